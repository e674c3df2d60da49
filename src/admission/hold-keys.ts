/**
 * Under which keys holds are counted, and what a ticket says of its buyer's claims: of those that a sale limits, and of those that operators may keep out. Keys are hashes under a secret of the shop: neither Redis nor
 * a ticket tells a name, an address or the value of a claim. Every edge makes the same.
 */

import { createHmac } from 'node:crypto'
import { CLAIM_NAME } from '../domain/hold-limits.ts'
import type { BuyerId, ItemId } from '../domain/ids.ts'
import { MARKS_LENGTH_MAX } from './ticket.ts'

export type HoldKeys = ReturnType<typeof createHoldKeys>

const VALUE_LENGTH_MAX = 256

export function createHoldKeys(secret: string) {
  const hash = (...parts: readonly (string | number)[]) => {
    const text = parts.map(part => `${String(part).length}:${part}`).join()
    return createHmac('sha256', secret).update(text).digest('hex').slice(0, 24)
  }
  /** Undefined: a name or a value that no ticket carries. */
  function markOf(name: string, value: unknown): string | undefined {
    const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (!isText || !CLAIM_NAME.test(name)) return undefined
    return `${name}-${hash('value', name, String(value).slice(0, VALUE_LENGTH_MAX)).slice(0, 16)}`
  }

  return {
    idOf: (item: ItemId, buyer: BuyerId, attempt: number) => hash('hold', item, buyer, attempt),
    buyer: (buyer: BuyerId) => `b${hash('buyer', buyer)}`,
    prefix: (network: string) => `n${hash('prefix', network)}`,
    /** @param mark as `marksOf` made it */
    claim: (mark: string) => `c${hash('claim', mark)}`,
    markOf,
    /** `name-hash`, of each of these claims that the token has, the first ones first while a ticket has room; undefined: of none. */
    marksOf(claims: Readonly<Record<string, unknown>>, names: Iterable<string>): string | undefined {
      let marks = ''
      for (const name of names) {
        const mark = Object.hasOwn(claims, name) ? markOf(name, claims[name]) : undefined
        const longer = marks === '' ? mark : `${marks}-${mark}`
        if (mark !== undefined && longer!.length <= MARKS_LENGTH_MAX) marks = longer!
      }
      return marks === '' ? undefined : marks
    },
  }
}

/** `name-hash` of each claim that a ticket carries. */
export function marksIn(marks: string | undefined): readonly { readonly name: string; readonly mark: string }[] {
  const parts = marks?.split('-') ?? []
  return Array.from({ length: Math.floor(parts.length / 2) }, (_, i) => {
    const [name, hash] = [parts[2 * i]!, parts[2 * i + 1]!]
    return { name, mark: `${name}-${hash}` }
  })
}
