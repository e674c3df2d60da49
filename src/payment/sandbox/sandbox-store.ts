/**
 * Where the sandbox house keeps its payments, so that money taken before a crash is still known after it.
 * Calls for one payment arrive one after the other. Does not decide anything.
 */

import type { SandboxPayment } from './sandbox-payment.ts'

export interface SandboxStore {
  /** Everything that was kept, each payment once as it was last saved, oldest first. Called once, before anything else. */
  load(): Promise<readonly SandboxPayment[]>
  /** Resolves when the payment would survive a crash of the process or the machine; a fault when that is not sure. */
  save(payment: SandboxPayment): Promise<void>
  /** These need not come back. A payment saved afterwards under the same ref does. */
  forget(refs: ReadonlySet<string>): Promise<void>
  /** Resolves when all that was begun is done. */
  close(): Promise<void>
}
