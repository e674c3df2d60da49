/** A sandbox with its keys, its payments and the answers of its pay pages. */

import { FileStore } from './file-store.ts'
import { PaymentRepository, type SandboxRows } from './payment-repository.ts'
import { Sandbox } from './sandbox.ts'
import { handleSandbox } from './sandbox-http.ts'
import { createSandboxKeys } from './sandbox-keys.ts'

type SandboxOptions = ConstructorParameters<typeof Sandbox>[0]

interface OpenOptions extends Omit<SandboxOptions, 'payments' | 'keys'> {
  readonly secret: string
  /** Payments that the processes of a cluster share; undefined: they are in the file. */
  readonly rows: SandboxRows | undefined
  readonly file: string
}

export async function openSandbox({ secret, rows, file, ...options }: OpenOptions) {
  const keys = createSandboxKeys(secret)
  const payments = new PaymentRepository(rows ?? (await FileStore.open(file, options.log)), options.clock)
  const provider = new Sandbox({ ...options, payments, keys })
  return { provider, handle: (request: Request) => handleSandbox(provider, keys, request) }
}
