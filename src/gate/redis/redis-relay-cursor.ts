/** How far outboxes on Redis have been copied: one hash per shard, beside its streams, a field per epoch. */

import { assert } from '../../base/assert.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { checkEpoch, checkItem, isNumber } from '../arguments.ts'
import type { CopiedUpTo } from '../relay-cursor.ts'
import type { ShardCursor } from '../sharded/shard-gate.ts'
import { copiedKey, gateKey, outboxesKey, workerKey } from './keys.ts'
import { LEASE_MS, takeReplyFrom } from './outbox-entries.ts'
import { listOf, textOf, wholeOf } from './replies.ts'
import { readScript } from './scripts.ts'

export function createRedisRelayCursor(connection: RedisConnection): ShardCursor {
  const scripts = {
    uncopied: readScript('uncopied', 'always'),
    copied: readScript('copied', 'always'),
    cursors: readScript('cursors', 'always'),
  }
  const cursors = (item: string, cursor: readonly (string | number)[]) =>
    connection.run(scripts.cursors, [outboxesKey(item), gateKey(item), copiedKey(item)], cursor)

  return {
    async uncopied(item, worker, asksMax) {
      checkItem(item)
      assert(worker.length >= 1, 'a worker without a name')
      assert(isNumber(asksMax), `uncopied, at most ${asksMax} reservations`)
      const keys = [workerKey(item), outboxesKey(item), gateKey(item), copiedKey(item)]
      return takeReplyFrom(await connection.run(scripts.uncopied, keys, [worker, LEASE_MS, asksMax]))
    },
    async copied(item, { epoch, entry, position }) {
      checkEpoch(item, epoch, 1)
      await connection.run(scripts.copied, [outboxesKey(item), copiedKey(item)], [epoch, entry, position])
    },
    async cursors(item) {
      checkItem(item)
      const list = listOf(await cursors(item, []))
      const found: CopiedUpTo[] = []
      for (let i = 0; i < list.length; i += 2) {
        const cursor = textOf(list[i + 1])
        const end = cursor.indexOf(' ')
        found.push({ epoch: wholeOf(list[i]), entry: cursor.slice(0, end), position: cursor.slice(end + 1) })
      }
      return found
    },
    async rewind(item, { epoch, entry, position }) {
      checkEpoch(item, epoch, 1)
      return wholeOf(await cursors(item, [epoch, entry, position])) === 1
    },
  }
}
