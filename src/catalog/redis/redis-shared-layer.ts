/**
 * The shared copies in Redis: one hash per key, with the copy and the lease to read it, and one number that counts the changes. A copy or
 * a lease belongs to the number it was made under, so that one step up makes all of them void; it is never handed out under another.
 * Times are the server's own.
 *
 * All keys carry one hash tag: scripts need the number beside the copy, and a catalog is small. Unlike the gate's, these keys have
 * lifetimes. Bounded: by them, by the length of a text, and by how many ids the catalog asks for (`catalog.ts`).
 * A copy that can't be read is not known, and nobody is sent to read it: it may be right for processes of another version.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { scriptsIn } from '../../base/redis/script.ts'
import { type CatalogKey, LIST, type SharedAnswer, type SharedLayer } from '../shared-layer.ts'
import { readSales, writeSales } from './sale-text.ts'

interface RedisSharedLayerOptions {
  readonly connection: Pick<RedisConnection, 'run' | 'subscribe' | 'database'>
  readonly random: Random
}

/** What `ask.lua` answers with. */
const [KNOWN, YOURS, WAIT] = [0, 1, 2]

export function createRedisSharedLayer({ connection, random }: RedisSharedLayerOptions): SharedLayer {
  const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
  const scripts = {
    ask: readScript('ask', 'grows'),
    keep: readScript('keep', 'grows'),
    giveBack: readScript('give-back', 'always'),
    forget: readScript('forget', 'always'),
  }
  const name = `stampede:${connection.database}:catalog`
  const changesKey = `{${name}}:changes`
  const keyOf = (key: CatalogKey) => `{${name}}:${key === LIST ? key : `sale:${key}`}`
  const process = Buffer.from(random.bytes(9)).toString('base64url')
  let leases = 0

  async function giveBack(key: CatalogKey, lease: string): Promise<void> {
    await connection.run(scripts.giveBack, [keyOf(key)], [lease])
  }

  return {
    async ask(key, leaseMs): Promise<SharedAnswer> {
      leases += 1
      const lease = `${process}:${leases}`
      const reply = await connection.run(scripts.ask, [keyOf(key), changesKey], [lease, leaseMs])
      assert(Array.isArray(reply), 'ask answered with no list')
      const [status, ageMs, text] = reply
      const sales = typeof text === 'string' && text !== '' ? readSales(key, text) : undefined
      switch (Number(status)) {
        case KNOWN:
          return sales === undefined
            ? { kind: 'unreadable', old: undefined }
            : { kind: 'known', sales, ageMs: Number(ageMs) }
        case YOURS:
          return { kind: 'yours', lease, old: sales }
        default:
          assert(Number(status) === WAIT, `ask answered with ${String(status)}`)
          return { kind: 'wait', old: sales }
      }
    },
    async keep(key, lease, sales, freshMs, keepMs) {
      const text = writeSales(sales)
      if (text === undefined) return giveBack(key, lease)
      const times = [Math.floor(freshMs), Math.floor(keepMs)]
      await connection.run(scripts.keep, [keyOf(key), changesKey], [lease, text, ...times])
    },
    giveBack,
    async forget() {
      await connection.run(scripts.forget, [changesKey], [name])
    },
    onForgotten(listener) {
      // What was said before it listened was missed too.
      void connection.subscribe(name, listener, listener).then(listener)
    },
  }
}
