/**
 * Places: where the units of an item are at the gate. An item with one shard has one place, named like the item. With n > 1 shards it
 * has n, named `item#0` … `item#n-1`, and each buyer meets one of them, always the same.
 *
 * The hash is part of the protocol: all processes of all versions must send a buyer to the same place, or one buyer has two. It may never
 * change; `shard-ids.test.ts` holds it to vectors. Strangers who choose their names may crowd into one place: they wait for its units to be
 * moved there, and win nothing by it.
 */

import { assert } from '../base/assert.ts'
import { type BuyerId, type ItemId, isId } from '../domain/ids.ts'
import { SHARDS_MAX } from '../domain/item.ts'

export type ShardId = string

/** Where this buyer's asks go, if the item has so many places. */
export function placeOf(item: ItemId, shards: number, buyer: BuyerId): ShardId {
  return shards === 1 ? item : `${item}#${shardOf(buyer, shards)}`
}

/** In their order: the first of several is number 0. */
export function placesOf(item: ItemId, shards: number): readonly ShardId[] {
  assert(Number.isSafeInteger(shards) && shards >= 1 && shards <= SHARDS_MAX, `item ${item} in ${shards} places`)
  return shards === 1 ? [item] : Array.from({ length: shards }, (_, i) => `${item}#${i}`)
}

export function itemOf(place: ShardId): ItemId {
  const end = place.indexOf('#')
  return end === -1 ? place : place.slice(0, end)
}

/** Is it one of several, by its name? */
export function isShard(place: ShardId): boolean {
  return place.includes('#')
}

/** What a place looks like when it comes from outside: an item's id, alone or with the number of a shard. */
export function isShardId(text: string): boolean {
  const end = text.indexOf('#')
  if (end === -1) return isId(text)
  return (
    isId(text.slice(0, end)) &&
    /^(0|[1-9][0-9]?)$/.test(text.slice(end + 1)) &&
    Number(text.slice(end + 1)) < SHARDS_MAX
  )
}

/** FNV-1a over the UTF-16 units, low byte first, then mixed: its own last bits follow the last character too closely. */
export function shardOf(buyer: BuyerId, shards: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < buyer.length; i++) {
    const unit = buyer.charCodeAt(i)
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193)
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % shards
}
