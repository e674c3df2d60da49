/** The names of keys and channels in Redis. All keys of an item carry its hash tag; scripts build one from another (`lib.lua`). */

import { Fault } from '../../base/fault.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import { checkItem } from '../arguments.ts'

export const gateKey = (item: ItemId) => `{${item}}:gate`
export const buyersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:buyers`
export const ordersKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:orders`
export const bookKeys = (item: ItemId, epoch: Epoch) => [gateKey(item), buyersKey(item, epoch), ordersKey(item, epoch)]
export const outboxKey = (item: ItemId, epoch: Epoch) => `{${item}}:${epoch}:outbox`
export const outboxesKey = (item: ItemId) => `{${item}}:outboxes`
export const copiedKey = (item: ItemId) => `{${item}}:copied`
export const workerKey = (item: ItemId) => `{${item}}:worker`

interface Asked<R> {
  readonly server: string
  readonly items: readonly ItemId[]
  readonly reply: R | Fault
}

/**
 * One question for all items of a server, by a script that reads across slots. While slots move, some items are not where they were
 * believed to be, and the server refuses the whole question: then it is asked slot by slot.
 */
export async function askServers<R>(
  connection: Pick<RedisConnection, 'together' | 'serverOf'>,
  items: readonly ItemId[],
  ask: (items: readonly ItemId[]) => Promise<R>,
): Promise<readonly Asked<R>[]> {
  items.forEach(checkItem)
  const asked = async (server: string, some: readonly ItemId[]): Promise<Asked<R>> => {
    try {
      return { server, items: some, reply: await ask(some) }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return { server, items: some, reply: error }
    }
  }
  const servers = Map.groupBy(items, item => connection.serverOf(gateKey(item)))
  const replies = await Promise.all(
    [...servers].map(async ([server, some]) => {
      const one = await asked(server, some)
      const isMoving = one.reply instanceof Fault && MOVING.has(one.reply.code)
      const itemOf = new Map(some.map(item => [gateKey(item), item]))
      const slots = isMoving ? connection.together([...itemOf.keys()]) : []
      if (slots.length <= 1) return [one]
      return Promise.all(
        slots.map(keys =>
          asked(
            server,
            keys.map(key => itemOf.get(key)!),
          ),
        ),
      )
    }),
  )
  return replies.flat()
}

/** A key is on another server, or on its way there. */
const MOVING: ReadonlySet<string> = new Set(['redis_moving', 'redis_moved'])

/** Channels are shared by all databases of a server, so the name carries the number. */
export const messageChannel = (database: number) => `stampede:${database}:news`
