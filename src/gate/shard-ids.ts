/**
 * The names of shards, and which of them a buyer belongs to. An item with one shard keeps its units under its own id; with n > 1 shards
 * it has `item#0` … `item#n-1`, and each buyer belongs to one of them.
 *
 * The hash is part of the protocol: all processes of all versions must send a buyer to the same shard, or one buyer would hold two
 * reservations. It may never change; `shard-ids.test.ts` compares it with fixed vectors. Buyers who choose names that hash to one shard
 * only wait until units are moved there.
 */

import { assert } from '../base/assert.ts'
import { type BuyerId, type ItemId, isId } from '../domain/ids.ts'
import { SHARDS_MAX } from '../domain/item.ts'

export type ShardId = string

export function shardIdFor(item: ItemId, shards: number, buyer: BuyerId): ShardId {
  return shards === 1 ? item : `${item}#${shardOf(buyer, shards)}`
}

/** In the order of their numbers, from 0. */
export function shardIdsOf(item: ItemId, shards: number): readonly ShardId[] {
  assert(Number.isSafeInteger(shards) && shards >= 1 && shards <= SHARDS_MAX, `item ${item} with ${shards} shards`)
  return shards === 1 ? [item] : Array.from({ length: shards }, (_, i) => `${item}#${i}`)
}

export function itemOf(shard: ShardId): ItemId {
  const end = shard.indexOf('#')
  return end === -1 ? shard : shard.slice(0, end)
}

/** Is it one of several, by its name? */
export function isOneOfSeveral(shard: ShardId): boolean {
  return shard.includes('#')
}

/** For text from outside: an item's id, alone or with the number of a shard. */
export function isShardId(text: string): boolean {
  const end = text.indexOf('#')
  if (end === -1) return isId(text)
  const number = text.slice(end + 1)
  return isId(text.slice(0, end)) && /^(0|[1-9][0-9]?)$/.test(number) && Number(number) < SHARDS_MAX
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
