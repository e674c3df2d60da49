/**
 * A payment of the sandbox, and the modes in which a test makes it misbehave.
 * States: open → captured → refunded, open → void; a payment cancelled before its start is created void, without an amount.
 */

import { z } from 'zod'
import { AMOUNT_MAX } from '../../domain/money.ts'

const moneySchema = z
  .object({ amount: z.int().min(0).max(AMOUNT_MAX), currency: z.string().regex(/^[A-Z]{3}$/) })
  .readonly()

const msSchema = z.int().min(0)

const REF = /^[A-Za-z0-9_-]{1,64}$/

export const PARTS_MAX = 200

/** Checked again whenever it is read from the store. */
export const sandboxPaymentSchema = z
  .object({
    ref: z.string().regex(REF),
    state: z.enum(['open', 'captured', 'void', 'refunded']),
    asked: z
      .object({ amount: moneySchema, description: z.string(), returnUrl: z.string().optional(), payByMs: msSchema })
      .readonly()
      .optional(),
    madeAtMs: msSchema,
    captured: z.object({ amount: moneySchema, atMs: msSchema }).readonly().optional(),
    /** pending: requested once, refunded at the next request. */
    refund: z
      .object({ key: z.string().max(200), state: z.enum(['pending', 'refunded']) })
      .readonly()
      .optional(),
    /** Refunded in parts, each under its own key. Those that were refunded amount to less than what was captured. */
    parts: z
      .array(
        z
          .object({ key: z.string().max(200), amount: z.int().min(1), state: z.enum(['pending', 'refunded']) })
          .readonly(),
      )
      .max(PARTS_MAX)
      .readonly()
      .optional(),
    slowRefund: z.boolean().optional(),
    /** Void because the buyer said no. */
    declined: z.boolean().optional(),
  })
  .readonly()
  .refine(one => (one.captured !== undefined) === (one.state === 'captured' || one.state === 'refunded'))
  .refine(one => one.asked !== undefined || one.state === 'void')

export type SandboxPayment = z.infer<typeof sandboxPaymentSchema>

/** Undefined: the text is no payment. */
export function parsePayment(text: string): SandboxPayment | undefined {
  try {
    return sandboxPaymentSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** How much went back to the buyer. */
export function givenBack({ state, captured, parts = [] }: SandboxPayment): number {
  if (state === 'refunded') return captured?.amount.amount ?? 0
  return parts.reduce((sum, part) => sum + (part.state === 'refunded' ? part.amount : 0), 0)
}

export function isFinal(payment: SandboxPayment): boolean {
  return payment.state === 'void' || payment.state === 'refunded'
}

/** The body of a callback. */
export const callbackEventSchema = z
  .object({
    eventId: z.string().min(1).max(100),
    ref: z.string().regex(REF),
    kind: z.enum(['captured', 'void', 'refunded']),
    amount: moneySchema,
    atMs: msSchema,
    why: z.literal('declined').optional(),
  })
  .readonly()

export function isRef(text: string): boolean {
  return REF.test(text)
}

/**
 * plain           one callback, repeated until it is acknowledged
 * lost            none                                        double    two at the same time
 * late            one, after `ms`                             forged    one with a signature that does not fit, not repeated
 * wrong_amount    the callback names one minor unit more than was captured; a query answers the right amount
 * wrong_currency  the callback names another currency; a query answers the right one
 * short           one minor unit less than asked for is captured: callback and query agree
 * slow_refund     a plain capture whose refund is pending at first
 */
export type Mode = { readonly kind: (typeof MODES)[number] } | { readonly kind: 'late'; readonly ms: number }

const MODES = ['plain', 'lost', 'double', 'forged', 'wrong_amount', 'wrong_currency', 'short', 'slow_refund'] as const
const WAIT_MS_MAX = 600_000

/** Milliseconds from outside; undefined if they are malformed or more than ten minutes. */
export function parseWaitMs(text: string | null | undefined): number | undefined {
  if (!/^[0-9]{1,6}$/.test(text ?? '')) return undefined
  return Number(text) <= WAIT_MS_MAX ? Number(text) : undefined
}

/** Reads `double`, `late:1500` and the like; undefined when there is no such mode. */
export function parseMode(text: string): Mode | undefined {
  const kind = MODES.find(one => one === text)
  if (kind !== undefined) return { kind }
  const ms = text.startsWith('late:') ? parseWaitMs(text.slice('late:'.length)) : undefined
  return ms === undefined ? undefined : { kind: 'late', ms }
}
