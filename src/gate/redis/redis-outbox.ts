/**
 * The outbox on Redis: one stream per item and epoch, written by `reserve.lua` alone, one entry per batch. What is in a stream is not
 * known to be placed, what is known to be placed is not in a stream; so no consumer group or list of pending entries can be lost in a
 * failover.
 * Guarantees: entries come in the order they were written, lowest epoch first; only `done` deletes them; a worker's lease lapses by the
 * server's own clock. An entry that can't be read is shown as it is, and kept.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { callTogether } from '../../base/redis/calls-together.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { ItemId } from '../../domain/ids.ts'
import { checkEpoch, checkItem, isNumber } from '../arguments.ts'
import type { OutboxDepth, OutboxStatus, TakeReply } from '../outbox.ts'
import type { ShardOutbox } from '../sharded/shard-gate.ts'
import { askServers, gateKey, outboxesKey, outboxKey, workerKey } from './keys.ts'
import { LEASE_MS, takeReplyFrom } from './outbox-entries.ts'
import { listOf, wholeOf } from './replies.ts'
import { readScript } from './scripts.ts'

const DONE_AT_ONCE = 1_000
/** Of a call that takes: how much waits is not known before. At most 100 in one script call: what a full wave of the edges has reserved. */
const TAKE_WEIGHT = 10
/** The server does nothing else meanwhile; a longer outbox is counted when it is shorter. */
const RECOUNT_ENTRIES_MAX = 64

export function createRedisOutbox(connection: RedisConnection): ShardOutbox {
  const scripts = {
    give: readScript('give', 'always'),
    depth: readScript('depth', 'reads_across'),
    recount: readScript('recount', 'always'),
    forget: readScript('forget', 'always'),
  }

  const take = callTogether(connection, 'run', readScript('take', 'always'), readScript('take', 'always', 'several'))
  const done = callTogether(connection, 'run', readScript('done', 'always'), readScript('done', 'always', 'several'))

  async function depthsOf(items: readonly ItemId[]): Promise<readonly OutboxDepth[]> {
    const names = items.flatMap(item => [outboxesKey(item), gateKey(item)])
    const found = listOf(await connection.run(scripts.depth, names.slice(0, 1), names))
    return items.map((item, i) => {
      const [entries, units, oldest, miscounted] = listOf(found[i])
      const oldestMs = oldest === null || oldest === undefined ? undefined : wholeOf(oldest)
      return { item, entries: wholeOf(entries), units: wholeOf(units), oldestMs, miscounted: wholeOf(miscounted) }
    })
  }

  return {
    async take(item, worker, asksMax): Promise<TakeReply> {
      checkItem(item)
      assert(worker.length >= 1, 'a worker without a name')
      assert(isNumber(asksMax), `take of at most ${asksMax} reservations`)
      const keys = [workerKey(item), outboxesKey(item), gateKey(item)]
      return takeReplyFrom(await take(keys, [worker, LEASE_MS, asksMax], TAKE_WEIGHT))
    },

    async done(item, epoch, ids) {
      checkEpoch(item, epoch, 1)
      const keys = [outboxKey(item, epoch), outboxesKey(item), gateKey(item)]
      for (let from = 0; from < ids.length; from += DONE_AT_ONCE) {
        const some = ids.slice(from, from + DONE_AT_ONCE)
        await done(keys, [epoch, ...some], some.length)
      }
    },

    async give(item, worker) {
      checkItem(item)
      await connection.run(scripts.give, [workerKey(item)], [worker])
    },

    async depth(items): Promise<readonly OutboxDepth[]> {
      const replies = await askServers(connection, items, depthsOf)
      return replies.flatMap(({ reply }) => {
        if (reply instanceof Fault) throw reply
        return reply
      })
    },

    async status(items): Promise<OutboxStatus> {
      const replies = await askServers(connection, items, depthsOf)
      const away = replies.flatMap(one => (one.reply instanceof Fault ? one.items : []))
      return { items: replies.flatMap(({ reply }) => (reply instanceof Fault ? [] : reply)), away }
    },

    async recount(item) {
      checkItem(item)
      return wholeOf(await connection.run(scripts.recount, [outboxesKey(item), gateKey(item)], [RECOUNT_ENTRIES_MAX]))
    },

    async forget(item) {
      checkItem(item)
      const keys = [gateKey(item), outboxesKey(item), workerKey(item)]
      return wholeOf(await connection.run(scripts.forget, keys, [])) === 1
    },
  }
}
