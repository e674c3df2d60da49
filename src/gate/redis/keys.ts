/** The names of keys and channels in Redis. All keys of an item carry its hash tag; scripts build one from another (`lib.lua`). */

import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import { checkItem } from '../arguments.ts'

export const gateKey = (item: ItemId) => `{${item}}:gate`
export const buyersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:buyers`
export const ordersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:orders`
export const bookKeys = (item: ItemId, epoch: Epoch) => [gateKey(item), buyersKey(item, epoch), ordersKey(item, epoch)]
export const outboxKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:outbox`
export const outboxesKey = (item: ItemId) => `{${item}}:outboxes`
export const workerKey = (item: ItemId) => `{${item}}:worker`

/** Items in groups that one server can be asked about at once. */
export function itemsTogether(connection: Pick<RedisConnection, 'together'>, items: readonly ItemId[]) {
  items.forEach(checkItem)
  const itemOf = new Map(items.map(item => [gateKey(item), item]))
  return connection.together([...itemOf.keys()]).map(keys => keys.map(key => itemOf.get(key)!))
}

/** Channels are shared by all databases of a server, so the name carries the number. */
export const messageChannel = (database: number) => `stampede:${database}:news`
