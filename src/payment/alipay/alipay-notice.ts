/**
 * Alipay's asynchronous notice: a form whose signature is one of its fields. It is checked over the decoded bytes of all other fields as they
 * came, whatever their charset. A notice tells the state of a trade at the moment it is sent; the fields of a refund are in it as soon as
 * anything was refunded, and set it apart from the notice of the payment.
 *
 * Stale: `notify_time` is when this notice was sent. Alipay repeats a notice that was not acknowledged after 4, 10 and 10 minutes, 1, 2, 6
 * and 15 hours, each time with the same `notify_id`, a new `notify_time` and a new signature. So a short span refuses recordings, and
 * takes every real repetition, also the one after 25 hours. Should one be refused for a wrong clock, the active query finds the payment.
 */

import type { Money } from '../../domain/money.ts'
import { fromDecimal } from '../../domain/money.ts'
import type { CallbackEvent, CallbackKind } from '../payment.ts'
import { fromBeijing } from './beijing-time.ts'

const FIELDS_MAX = 100
/** More than a clock is usually wrong, and than a notice may be on its way. */
const AGE_MS_MAX = 30 * 60_000
const AHEAD_MS_MAX = 10 * 60_000
/** Neither is part of what is signed. */
const SIGNATURE_FIELDS = ['sign', 'sign_type']
const SERIAL_FIELD = 'alipay_cert_sn'

/** A notice that is whole and ours, but whose signature has not been checked. */
interface UncheckedNotice {
  readonly fields: ReadonlyMap<string, string>
  readonly signature: string
  /** Of the certificate it is signed with, where it says so. */
  readonly serial: string | undefined
  /** What may be signed: Alipay's clients differ on whether the certificate's number belongs to it. */
  readonly contents: readonly Uint8Array[]
}

interface Recipient {
  readonly appId: string
  /** Undefined: not checked. */
  readonly sellerId: string | undefined
}

/** Undefined: malformed, or meant for another account. */
export function readNotice(
  rawBody: Uint8Array,
  contentType: string | null | undefined,
  { appId, sellerId }: Recipient,
): UncheckedNotice | undefined {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')) return undefined
  const fields = readForm(rawBody)
  const signature = fields?.get('sign')
  if (fields === undefined || signature === undefined || fields.get('sign_type') !== 'RSA2') return undefined
  if (fields.get('app_id') !== appId) return undefined
  if (sellerId !== undefined && fields.get('seller_id') !== sellerId) return undefined
  const serial = fields.get(SERIAL_FIELD)
  const contents = [contentOf(fields, SIGNATURE_FIELDS)]
  if (serial !== undefined) contents.push(contentOf(fields, [...SIGNATURE_FIELDS, SERIAL_FIELD]))
  return { fields, signature, serial, contents }
}

/** What a genuine notice says. Undefined: it is stale, or lacks what every notice has. */
export function eventOf({ fields }: UncheckedNotice, nowMs: number): CallbackEvent | undefined {
  const sentMs = fromBeijing(fields.get('notify_time'))
  const eventId = fields.get('notify_id') ?? ''
  if (sentMs === undefined || !/^[\w-]{1,128}$/.test(eventId)) return undefined
  if (nowMs - sentMs > AGE_MS_MAX || sentMs - nowMs > AHEAD_MS_MAX) return undefined

  const ref = fields.get('out_trade_no') ?? ''
  const amount = amountOf(fields.get('total_amount'), fields.get('trans_currency'))
  const kind = fields.get('notify_type') === 'trade_status_sync' ? kindOf(fields) : 'other'
  // Of another service that the same account uses: acknowledged, and of no interest.
  if (!/^[\w-]{1,64}$/.test(ref) || amount === undefined)
    return kind === 'other'
      ? { eventId, ref: '', kind, amount: { amount: 0, currency: 'CNY' }, atMs: sentMs }
      : undefined
  const atMs = fromBeijing(fields.get('gmt_payment')) ?? sentMs
  return { eventId, ref, kind, amount, atMs, ...(kind === 'void' && { why: 'expired' as const }) }
}

function kindOf(fields: ReadonlyMap<string, string>): CallbackKind {
  const refunded = fields.has('gmt_refund') || Number(fields.get('refund_fee') ?? 0) > 0
  switch (fields.get('trade_status')) {
    case 'TRADE_SUCCESS':
    case 'TRADE_FINISHED':
      // A part was refunded: the payment is captured, and was told of before.
      return refunded ? 'other' : 'captured'
    case 'TRADE_CLOSED':
      // Closed without having been paid, or paid and refunded whole.
      return refunded || fields.has('gmt_payment') ? 'refunded' : 'void'
    default:
      return 'other'
  }
}

/** In yuan, with two digits at most, unless another currency is named. */
export function amountOf(text: unknown, currency: unknown): Money | undefined {
  const named = typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? currency : 'CNY'
  const decimal = typeof text === 'number' ? String(text) : text
  const amount = typeof decimal === 'string' && decimal.length <= 20 ? fromDecimal(decimal, named) : undefined
  return amount === undefined || !Number.isSafeInteger(amount) ? undefined : { amount, currency: named }
}

/** Every character stands for one byte. Undefined: not a form, a field is there twice, or there are too many. */
function readForm(rawBody: Uint8Array): ReadonlyMap<string, string> | undefined {
  const text = Buffer.from(rawBody).toString('latin1')
  // Alipay encodes everything else; a form with such a byte was changed on its way.
  if (!/^[\x21-\x7e]+$/.test(text)) return undefined
  const fields = new Map<string, string>()
  for (const part of text.split('&')) {
    const equals = part.indexOf('=')
    const name = decode(part.slice(0, Math.max(0, equals)))
    const value = decode(part.slice(equals + 1))
    if (name === undefined || name === '' || value === undefined) return undefined
    if (fields.has(name) || fields.size === FIELDS_MAX) return undefined
    fields.set(name, value)
  }
  return fields
}

function decode(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined
  return text.replaceAll('+', ' ').replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function contentOf(fields: ReadonlyMap<string, string>, without: readonly string[]): Uint8Array {
  const names = [...fields.keys()].filter(name => !without.includes(name)).sort()
  return Buffer.from(names.map(name => `${name}=${fields.get(name)}`).join('&'), 'latin1')
}
