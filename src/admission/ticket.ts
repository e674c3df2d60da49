/**
 * Tickets: the signed right to try. A ticket binds sale, item, buyer, attempt, not-before and expiry; whoever holds a key can check it
 * without asking anybody.
 *
 *     t1.ITEM.BUYER.SALE.ATTEMPT.NOTBEFORE.EXPIRES.KEYID.MAC
 *
 * Item and buyer come first and in plain text, so that the sold-out path reads them with two searches and no cryptography. A buyer of
 * letters, digits, `-` and `_` stands as it is; any other is `~` and its UTF-8 in base64url. No field can hold a dot, all characters may
 * stand unquoted in a header, and a ticket is at most 1 KiB long.
 *
 * Guarantees: `verify` accepts exactly the strings that `issue` made. The HMAC-SHA256 covers every field as it is written, each with its
 * length in front, so none can slide into another; the MAC is compared as text and in constant time, so it has one spelling only.
 * Does not judge time: whether it is too early or too late is up to the caller, who knows by which clock.
 */

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { type BuyerId, type ItemId, isBuyerId, isId, type SaleId } from '../domain/ids.ts'

export interface TicketClaims {
  readonly sale: SaleId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly notBeforeMs: number
  readonly expiresAtMs: number
}

interface TicketKey {
  readonly id: string
  /** Not a string, so that no log can print it. */
  readonly secret: KeyObject
}

export interface TicketOffice {
  issue(claims: TicketClaims): string
  verify(ticket: string): TicketClaims | undefined
  /** What the ticket says, true or not: only good for finding out whether it is worth verifying. */
  peekBuyer(ticket: string): { readonly item: ItemId; readonly buyer: BuyerId } | undefined
}

const VERSION = 't1'
const ITEM_AT = VERSION.length + 1
const FIELDS = 9
const MAC_LENGTH = 43
const TICKET_LENGTH_MAX = 1024
const SECRET_BYTES_MIN = 16
const PLAIN = /^[A-Za-z0-9_-]+$/

/** Reads `id:secret,id2:secret2`. Errors say which key by its place: a mistyped id may well be a secret. */
export function parseTicketKeys(text: string): readonly TicketKey[] {
  const ids: string[] = []
  return text.split(',').map((entry, index) => {
    const place = `ticket key ${index + 1}`
    const colon = entry.indexOf(':')
    if (colon < 0) throw new Error(`${place} is not id:secret`)
    const id = entry.slice(0, colon).trim()
    const secret = Buffer.from(entry.slice(colon + 1).trim(), 'utf8')
    if (!/^[A-Za-z0-9_-]{1,16}$/.test(id)) throw new Error(`${place}: the id must be 1 to 16 letters, digits, - or _`)
    if (secret.length < SECRET_BYTES_MIN)
      throw new Error(`${place}: the secret is shorter than ${SECRET_BYTES_MIN} bytes`)
    if (ids.includes(id)) throw new Error(`${place} has the same id as ticket key ${ids.indexOf(id) + 1}`)
    ids.push(id)
    return { id, secret: createSecretKey(secret) }
  })
}

/** The first key signs; all of them verify. */
export function createTicketOffice(keys: readonly TicketKey[]): TicketOffice {
  const newest = keys[0]
  assert(newest !== undefined, 'a ticket office needs a key')
  const secrets = new Map(keys.map(key => [key.id, key.secret]))
  const macGiven = Buffer.alloc(MAC_LENGTH)
  const macExpected = Buffer.alloc(MAC_LENGTH)

  function issue(claims: TicketClaims): string {
    assert(areClaims(claims), 'a ticket was asked for with claims that no ticket may carry')
    const { item, buyer, sale, attempt, notBeforeMs, expiresAtMs } = claims
    const fields = [
      VERSION,
      item,
      writeBuyer(buyer),
      sale,
      String(attempt),
      String(notBeforeMs),
      String(expiresAtMs),
      newest!.id,
    ]
    const ticket = `${fields.join('.')}.${macOf(fields, newest!.secret)}`
    assert(ticket.length <= TICKET_LENGTH_MAX, `a ticket of ${ticket.length} bytes is too long`)
    return ticket
  }

  function verify(ticket: string): TicketClaims | undefined {
    if (ticket.length > TICKET_LENGTH_MAX) return undefined
    const fields = ticket.split('.', FIELDS + 1)
    if (fields.length !== FIELDS || fields[0] !== VERSION) return undefined
    const mac = fields.pop()!
    const secret = secrets.get(fields[FIELDS - 2]!)
    // Only plain characters: as latin1, a wide one would pass for the one in its low byte.
    if (secret === undefined || mac.length !== MAC_LENGTH || !PLAIN.test(mac)) return undefined
    macGiven.write(mac, 'latin1')
    macExpected.write(macOf(fields, secret), 'latin1')
    if (!timingSafeEqual(macGiven, macExpected)) return undefined

    const [, item, buyer, sale, attempt, notBeforeMs, expiresAtMs] = fields
    const claims = {
      sale: sale!,
      item: item!,
      buyer: readBuyer(buyer!),
      attempt: Number(attempt),
      notBeforeMs: Number(notBeforeMs),
      expiresAtMs: Number(expiresAtMs),
    }
    // Ours, but perhaps from before the rules for claims were tightened.
    return areClaims(claims) ? claims : undefined
  }

  return { issue, verify, peekBuyer }
}

function peekBuyer(ticket: string): { readonly item: ItemId; readonly buyer: BuyerId } | undefined {
  if (ticket.length > TICKET_LENGTH_MAX || !ticket.startsWith(`${VERSION}.`)) return undefined
  const itemEnd = ticket.indexOf('.', ITEM_AT)
  const buyerEnd = ticket.indexOf('.', itemEnd + 1)
  if (itemEnd < 0 || buyerEnd < 0) return undefined
  return { item: ticket.slice(ITEM_AT, itemEnd), buyer: readBuyer(ticket.slice(itemEnd + 1, buyerEnd)) }
}

function macOf(fields: readonly string[], secret: KeyObject): string {
  let signed = ''
  for (const field of fields) signed += `${field.length}:${field},`
  return createHmac('sha256', secret).update(signed).digest('base64url')
}

function writeBuyer(buyer: BuyerId): string {
  return PLAIN.test(buyer) ? buyer : `~${Buffer.from(buyer, 'utf8').toString('base64url')}`
}

function readBuyer(text: string): BuyerId {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf8') : text
}

function areClaims({ sale, item, buyer, attempt, notBeforeMs, expiresAtMs }: TicketClaims): boolean {
  return (
    isId(sale) && isId(item) && isBuyerId(buyer) && isCount(attempt) && isCount(notBeforeMs) && isCount(expiresAtMs)
  )
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
