/**
 * Tickets: the signed right to try. A ticket binds sale, item, buyer, attempt, not-before and expiry; every edge with the key verifies it
 * without I/O.
 *
 *     t1.ITEM.BUYER.SALE.ATTEMPT.NOTBEFORE.EXPIRES.KEYID.MAC
 *
 * A ticket may carry marks: words that were true of the buyer when it was issued. They follow EXPIRES in its field, behind a `~`; without marks a
 * ticket is as it always was, and an edge that does not know marks refuses a ticket that has some.
 *
 * Item and buyer come first and in plain text, so that the sold-out path reads them with two searches and no cryptography. A buyer of
 * letters, digits, `-` and `_` is written as it is; any other as `~` and its UTF-8 in base64url. No field can hold a dot, a header needs
 * no quotes for any character, and a ticket is at most 1 KiB long.
 *
 * Guarantees: `verify` accepts exactly the strings that `issue` made. The HMAC-SHA256 covers every field as written, each with its length
 * in front, so fields can't run into each other; the MAC is compared as text and in constant time. Does not judge times: the caller does.
 *
 * A ticket may be bound to more than it says (`ticket-binding.ts`): the MAC then also covers a text that is not in the ticket, and the request that
 * shows the ticket must bring it.
 */

import { createSecretKey, type KeyObject } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { SHA256_BYTES, sha256 } from '../base/sha256.ts'
import { type BuyerId, type ItemId, isBuyerId, isId, type SaleId } from '../domain/ids.ts'

export interface TicketClaims {
  readonly sale: SaleId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly notBeforeMs: number
  readonly expiresAtMs: number
  /** Letters, digits, `-` and `_`; undefined: none. */
  readonly marks?: string | undefined
}

interface TicketKey {
  readonly id: string
  /** Not a string, so that no log can print it. */
  readonly secret: KeyObject
}

export type TicketOffice = ReturnType<typeof createTicketOffice>

const PREFIX = 't1.'
const ITEM_AT = PREFIX.length
/** All but the MAC. */
const FIELDS_SIGNED = 8
const MAC_LENGTH = 43
const TICKET_LENGTH_MAX = 1024
/** Beside the longest buyer it fits into a ticket. */
export const MARKS_LENGTH_MAX = 160
const BLOCK_BYTES = 64
export const BINDING_LENGTH_MAX = 64
/** A ticket's characters and its binding, and their lengths of up to four digits with their two marks. */
const SIGNED_BYTES_MAX = TICKET_LENGTH_MAX + BINDING_LENGTH_MAX + (FIELDS_SIGNED + 1) * 6
const DOT = 46
const COLON = 58
const COMMA = 44
const ZERO = 48
const TILDE = 126
const PLAIN_MAX = 127
const SECRET_BYTES_MIN = 16
/** Of base64url: the codes of its 64 characters, in order. */
const BASE64URL = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', 'latin1')
const PLAIN = /^[A-Za-z0-9_-]+$/

/** Reads `id:secret,id2:secret2`. Errors name a key by its position: a mistyped id may be a secret. */
export function parseTicketKeys(text: string): readonly TicketKey[] {
  const ids: string[] = []
  return text.split(',').map((entry, index) => {
    const label = `ticket key ${index + 1}`
    const colon = entry.indexOf(':')
    if (colon < 0) throw new Error(`${label} is not id:secret`)
    const id = entry.slice(0, colon).trim()
    const secret = Buffer.from(entry.slice(colon + 1).trim(), 'utf8')
    if (!/^[A-Za-z0-9_-]{1,16}$/.test(id)) throw new Error(`${label}: the id must be 1 to 16 letters, digits, - or _`)
    if (secret.length < SECRET_BYTES_MIN)
      throw new Error(`${label}: the secret is shorter than ${SECRET_BYTES_MIN} bytes`)
    if (ids.includes(id)) throw new Error(`${label} has the same id as ticket key ${ids.indexOf(id) + 1}`)
    ids.push(id)
    return { id, secret: createSecretKey(secret) }
  })
}

/** The first key signs; all of them verify. */
export function createTicketOffice(keys: readonly TicketKey[]) {
  const newest = keys[0]
  assert(newest !== undefined, 'a ticket office needs a key')
  const signers = keys.map(({ id, secret }) => ({ id, sign: createSigner(secret) }))
  const ends = new Int32Array(FIELDS_SIGNED)
  // A zero behind it: its characters are read three bytes at a time.
  const padded = Buffer.alloc(SHA256_BYTES + 1)
  const mac = padded.subarray(0, SHA256_BYTES)

  /** @param binding what else the request that shows it must bring: ASCII, short; empty: nothing */
  function issue(claims: TicketClaims, binding = ''): string {
    assert(areClaims(claims), 'a ticket was requested with invalid claims')
    assert(binding.length <= BINDING_LENGTH_MAX, 'a ticket was bound to a text that is too long')
    const { item, buyer, sale, attempt, notBeforeMs, expiresAtMs, marks } = claims
    const expires = marks === undefined ? expiresAtMs : `${expiresAtMs}~${marks}`
    const fields = `${PREFIX}${item}.${writeBuyer(buyer)}.${sale}.${attempt}.${notBeforeMs}.${expires}.${newest!.id}`
    const length = fields.length + 1 + MAC_LENGTH
    assert(length <= TICKET_LENGTH_MAX, `a ticket of ${length} bytes is too long`)
    const isSigned = findEnds(fields, 0, fields.length, ends) && signers[0]!.sign(fields, 0, ends, binding, mac)
    assert(isSigned, 'a ticket could not be signed')
    return `${fields}.${mac.toString('base64url')}`
  }

  /**
   * Reads the fields in place: cutting each of them out of the text would cost as much as hashing them.
   * @param at where the ticket begins; it goes to the end of the text
   * @param on ids of a sale and its item: a ticket of others is no ticket here
   * @param binding what the request brings; empty where tickets are not bound
   */
  function verify(
    text: string,
    at = 0,
    on?: Pick<TicketClaims, 'sale' | 'item'>,
    binding = '',
  ): TicketClaims | undefined {
    const macAt = text.length - MAC_LENGTH
    if (text.length - at > TICKET_LENGTH_MAX || text.charCodeAt(macAt - 1) !== DOT) return undefined
    if (!text.startsWith(PREFIX, at) || !findEnds(text, at, macAt - 1, ends)) return undefined
    const signer = signers.find(one => isField(text, ends, 7, one.id))
    if (signer === undefined) return undefined
    if (on !== undefined && !(isField(text, ends, 1, on.item) && isField(text, ends, 3, on.sale))) return undefined
    if (!signer.sign(text, at, ends, binding, mac) || !endsWith(text, macAt, padded)) return undefined
    const marksAt = marksStart(text, ends[5]! + 1, ends[6]!)
    const claims = {
      sale: on?.sale ?? fieldOf(text, ends, 3),
      item: on?.item ?? fieldOf(text, ends, 1),
      buyer: readBuyer(fieldOf(text, ends, 2)),
      attempt: countOf(text, ends, 4),
      notBeforeMs: countOf(text, ends, 5),
      expiresAtMs: countOf(text, ends, 6, marksAt),
      marks: marksAt === ends[6]! ? undefined : text.slice(marksAt + 1, ends[6]),
    }
    // Signed by us, but perhaps by a version with looser rules for claims.
    const isValid = on === undefined ? areClaims(claims) : areOfBuyer(claims)
    return isValid ? claims : undefined
  }

  return { issue, verify, peekBuyer }
}

/** @param no the field's place, from 1 on: before it is always another */
function fieldOf(text: string, ends: Int32Array, no: number): string {
  return text.slice(ends[no - 1]! + 1, ends[no])
}

function isField(text: string, ends: Int32Array, no: number, value: string): boolean {
  const from = ends[no - 1]! + 1
  return ends[no]! - from === value.length && text.startsWith(value, from)
}

/** A field of digits; NaN where it is none. */
function countOf(text: string, ends: Int32Array, no: number, end = ends[no]!): number {
  const from = ends[no - 1]! + 1
  let value = from < end ? 0 : Number.NaN
  for (let at = from; at < end; at++) {
    const digit = text.charCodeAt(at) - ZERO
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
  }
  return value
}

/** Where the marks begin in this field, with their `~`; its end where there are none. */
function marksStart(text: string, from: number, end: number): number {
  for (let at = from; at < end; at++) if (text.charCodeAt(at) === TILDE) return at
  return end
}

/** Finds the end of each signed field. False when there are too few; with too many the key id holds a dot, and no key has such an id. */
function findEnds(text: string, from: number, end: number, ends: Int32Array): boolean {
  let at = from
  for (let field = 0; field < FIELDS_SIGNED - 1; field++) {
    at = text.indexOf('.', at)
    if (at < 0 || at >= end) return false
    ends[field] = at
    at += 1
  }
  ends[FIELDS_SIGNED - 1] = end
  return true
}

/**
 * HMAC-SHA256 (RFC 2104) over the fields as written, each with its length in front: `2:t1,19:…,`. False when a character is not ASCII.
 * Written byte by byte behind the padded key, then hashed twice, into arrays that are there already: joining strings for each ticket, an HMAC
 * object, or a new Buffer for each hash would cost more than all of it.
 */
function createSigner(
  secret: KeyObject,
): (text: string, at: number, ends: Int32Array, binding: string, mac: Uint8Array) => boolean {
  const exported = secret.export()
  const inner = Buffer.alloc(BLOCK_BYTES + SIGNED_BYTES_MAX)
  const outer = Buffer.alloc(BLOCK_BYTES + SHA256_BYTES)
  const innerHash = outer.subarray(BLOCK_BYTES)
  if (exported.length > BLOCK_BYTES) sha256(exported, innerHash)
  const key = exported.length > BLOCK_BYTES ? Buffer.from(innerHash) : exported
  for (let i = 0; i < BLOCK_BYTES; i++) {
    inner[i] = (key[i] ?? 0) ^ 0x36
    outer[i] = (key[i] ?? 0) ^ 0x5c
  }
  /** By length: what is hashed begins at the same place for every ticket. */
  const starts: Uint8Array[] = []

  return (text, at, ends, binding, mac) => {
    let to = BLOCK_BYTES
    let from = at
    for (let field = 0; field < FIELDS_SIGNED; field++) {
      const end = ends[field]!
      const length = end - from
      if (length >= 1000) inner[to++] = ZERO + Math.floor(length / 1000)
      if (length >= 100) inner[to++] = ZERO + (Math.floor(length / 100) % 10)
      if (length >= 10) inner[to++] = ZERO + (Math.floor(length / 10) % 10)
      inner[to++] = ZERO + (length % 10)
      inner[to++] = COLON
      for (; from < end; from++) {
        const code = text.charCodeAt(from)
        // Truncated to one byte, a wide character would equal the ASCII one in its low half.
        if (code > PLAIN_MAX) return false
        inner[to++] = code
      }
      inner[to++] = COMMA
      from = end + 1
    }
    // One field more, never one of the eight: no ticket without a binding signs the same bytes.
    if (binding !== '') to += inner.write(`${binding.length}:${binding},`, to, 'latin1')
    starts[to] ??= inner.subarray(0, to)
    sha256(starts[to]!, innerHash)
    sha256(outer, mac)
    return true
  }
}

/** Is the text from here on this MAC, with a zero behind it, in base64url? Constant time: compares every character, however early one differs. */
function endsWith(text: string, at: number, mac: Uint8Array): boolean {
  let difference = 0
  let to = at
  // Three bytes are four characters; of the last two bytes the fourth would be padding.
  for (let i = 0; i < SHA256_BYTES; i += 3) {
    const three = (mac[i]! << 16) | (mac[i + 1]! << 8) | mac[i + 2]!
    difference |= text.charCodeAt(to) ^ BASE64URL[three >> 18]!
    difference |= text.charCodeAt(to + 1) ^ BASE64URL[(three >> 12) & 63]!
    difference |= text.charCodeAt(to + 2) ^ BASE64URL[(three >> 6) & 63]!
    if (i < SHA256_BYTES - 2) difference |= text.charCodeAt(to + 3) ^ BASE64URL[three & 63]!
    to += 4
  }
  return difference === 0
}

/** The buyer named in the ticket, unverified: only to decide whether verifying is worth it. @param at where it begins in the text */
function peekBuyer(text: string, at = 0): BuyerId | undefined {
  if (text.length - at > TICKET_LENGTH_MAX || !text.startsWith(PREFIX, at)) return undefined
  const itemEnd = text.indexOf('.', at + ITEM_AT)
  const buyerEnd = text.indexOf('.', itemEnd + 1)
  return itemEnd < 0 || buyerEnd < 0 ? undefined : readBuyer(text.slice(itemEnd + 1, buyerEnd))
}

function writeBuyer(buyer: BuyerId): string {
  return PLAIN.test(buyer) ? buyer : `~${Buffer.from(buyer, 'utf8').toString('base64url')}`
}

function readBuyer(text: string): BuyerId {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf8') : text
}

function areClaims(claims: TicketClaims): boolean {
  return isId(claims.sale) && isId(claims.item) && areOfBuyer(claims)
}

function areOfBuyer({ buyer, attempt, notBeforeMs, expiresAtMs, marks }: TicketClaims): boolean {
  const areMarks = marks === undefined || (marks.length <= MARKS_LENGTH_MAX && PLAIN.test(marks))
  return isBuyerId(buyer) && isCount(attempt) && isCount(notBeforeMs) && isCount(expiresAtMs) && areMarks
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
