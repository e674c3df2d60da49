/**
 * Our refs as WeChat Pay's order numbers, and back. An order number (out_trade_no) has 6 to 32 characters, a ref 1 to 64. A ref of the ledger
 * (a decimal id) is its own order number. `*` is allowed there and never part of a ref, so no two refs share a number:
 *
 *   6 to 32 characters    the ref itself
 *   fewer                 the ref, filled up with `*`
 *   more                  `*` and a hash of the ref; the ref itself travels as `attach`
 *
 * A refund number (out_refund_no, up to 64 characters) must be unique for the whole merchant, so it begins with the ref. A refund of all that
 * is left has one number, whatever its key: it happens once.
 */

import { createHash } from 'node:crypto'

const TRADE_NO_LENGTH_MIN = 6
const TRADE_NO_LENGTH_MAX = 32
const REFUND_NO_LENGTH_MAX = 64
const REF = /^[A-Za-z0-9_-]{1,64}$/

export function isRef(text: string): boolean {
  return REF.test(text)
}

export function tradeNoOf(ref: string): string {
  if (ref.length > TRADE_NO_LENGTH_MAX) return hashed(ref, TRADE_NO_LENGTH_MAX)
  return ref.padEnd(TRADE_NO_LENGTH_MIN, '*')
}

/** Undefined: no ref of ours has this number, or it is a long one and `attach` is not the ref. */
export function refOf(tradeNo: string, attach: string | undefined): string | undefined {
  const ref = tradeNo.startsWith('*') ? (attach ?? '') : tradeNo.replace(/\*+$/, '')
  return isRef(ref) && tradeNoOf(ref) === tradeNo ? ref : undefined
}

/** @param key of a part; undefined: all that is left */
export function refundNoOf(ref: string, key: string | undefined): string {
  const whole = `${ref}*${key ?? '*'}`
  return whole.length > REFUND_NO_LENGTH_MAX ? hashed(whole, REFUND_NO_LENGTH_MAX) : whole
}

function hashed(text: string, length: number): string {
  return `*${createHash('sha256').update(text).digest('base64url')}`.slice(0, length)
}
