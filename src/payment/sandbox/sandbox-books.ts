/**
 * The sandbox house's books: every payment as it is, moved by one hand at a time. Kept by one process alone (`own-books.ts`) or by
 * several together (`shared-books.ts`). Does not decide anything.
 */

import type { SandboxPayment } from './sandbox-payment.ts'

interface Moved {
  readonly before: SandboxPayment | undefined
  /** As it is now. */
  readonly after: SandboxPayment | undefined
  /** Whether this call changed it. Of two that wanted the same at the same moment both may say so: tell nobody what can't be told twice. */
  readonly moved: boolean
}

export interface SandboxBooks {
  find(ref: string): Promise<SandboxPayment | undefined>
  /**
   * Keeps what `decide` makes of the payment as it is; nothing moves it in between. Resolves when that would survive a crash. Undefined:
   * it stays as it is. `decide` may be asked several times, each time with what the payment is by then, and only the last answer counts.
   */
  move(ref: string, decide: (found: SandboxPayment | undefined) => SandboxPayment | undefined): Promise<Moved>
  /** Resolves when all that was begun is done. */
  close(): Promise<void>
}

/** How many payments are kept at most. */
export const PAYMENTS_MAX = 200_000
/** What was settled so long ago, with nothing taken or all given back, makes room when there is no more. */
export const FORGET_AFTER_MS = 24 * 60 * 60_000

/** Nothing can come of it any more, and no money is left here. */
export function isOver(payment: SandboxPayment): boolean {
  return payment.state === 'void' || payment.state === 'refunded'
}
