/**
 * The sandbox's payments. Kept by one process (`local-repository.ts`) or shared by several (`shared-repository.ts`). Does not decide
 * anything.
 */

import type { SandboxPayment } from './sandbox-payment.ts'

interface Update {
  readonly before: SandboxPayment | undefined
  readonly after: SandboxPayment | undefined
  /** Whether this call changed the payment. Two equal updates at the same moment may both say so: what follows must be safe to do twice. */
  readonly changed: boolean
}

export interface PaymentRepository {
  find(ref: string): Promise<SandboxPayment | undefined>
  /**
   * Replaces the payment by what `decide` returns; atomic per payment. Undefined: it stays as it is. Resolves when the change would survive
   * a crash. `decide` may be called several times, each time with the current payment, and only the last result counts.
   */
  update(ref: string, decide: (found: SandboxPayment | undefined) => SandboxPayment | undefined): Promise<Update>
  /** Resolves when all updates have ended. */
  close(): Promise<void>
}

/** The most payments that are kept. */
export const PAYMENTS_MAX = 200_000
/** At the bound, payments that are void or refunded and older than this are forgotten. */
export const FORGET_AFTER_MS = 24 * 60 * 60_000

export function isFinal(payment: SandboxPayment): boolean {
  return payment.state === 'void' || payment.state === 'refunded'
}
