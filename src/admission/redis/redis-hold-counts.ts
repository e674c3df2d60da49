/**
 * The counts of all edges, on Redis: decided in one step by the server and by its clock (`scripts/hold*.lua`). The keys of a book share a slot.
 * Keys hold hashes and never a name or an address, and end by themselves. Losing them costs what `load` brings back from the ledger; on
 * purpose nothing here is written durably.
 *
 * A server that is slow is not waited for longer than `ANSWER_MS_MAX`: the caller decides without it.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import { callTogether } from '../../base/redis/calls-together.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { scriptsIn } from '../../base/redis/script.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import { type Hold, type HoldCounts, type HoldTaken, TAKEN, UNREAD } from '../hold-counts.ts'

interface RedisHoldCountsOptions {
  readonly connection: Pick<RedisConnection, 'run' | 'runDurably' | 'oneServer'>
  readonly clock: Clock
  /** For simulations: unix ms. Without it the server's clock is used. */
  readonly nowMs?: () => number
}

const ANSWER_MS_MAX = 250
/** Per script call: the server does nothing else meanwhile. */
const IDS_MAX = 500
const LOADED_MAX = 250

const keysOf = (book: string) => ['used', 'of', 'ends', 'read'].map(what => `holds:{${book}}:${what}`)

export function createRedisHoldCounts({ connection, clock, nowMs }: RedisHoldCountsOptions): HoldCounts {
  const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
  const scripts = {
    // Refused on a full server: the caller then counts for itself.
    take: callTogether(connection, 'run', readScript('hold', 'grows'), readScript('hold', 'grows', 'several')),
    keep: readScript('hold-keep', 'always'),
    load: readScript('hold-load', 'grows'),
  }
  const timeout = createSharedTimeout({ clock, ms: ANSWER_MS_MAX })
  const now = () => nowMs?.() ?? 0

  async function takeOne(book: string, { id, units, forMs, keys }: Hold, maxima: readonly number[]) {
    const subjects = keys.flatMap((key, i) => [key, maxima[i]!])
    const answer = await scripts.take(keysOf(book), [now(), id, units, forMs, ...subjects])
    assert(Number.isSafeInteger(answer), `a script answered ${JSON.stringify(answer)}`)
    const at = Number(answer)
    assert(at >= -1 && at <= keys.length, `a script answered ${at}`)
    return at > 0 ? ({ kind: 'full', at: at - 1 } as const) : at === 0 ? TAKEN : UNREAD
  }

  async function keepAll(book: string, ids: readonly string[], forMs: number, withinMs: number): Promise<true> {
    for (let i = 0; i < ids.length; i += IDS_MAX)
      await connection.run(scripts.keep, keysOf(book), [now(), forMs, withinMs, ...ids.slice(i, i + IDS_MAX)])
    return true
  }

  async function loadAll(book: string, holds: readonly Hold[]): Promise<true> {
    for (let i = 0; i === 0 || i < holds.length; i += LOADED_MAX) {
      const some = holds.slice(i, i + LOADED_MAX)
      const fields = some.flatMap(({ id, units, forMs, keys }) => [id, units, forMs, keys.join('|')])
      await connection.run(scripts.load, keysOf(book), [now(), i + LOADED_MAX >= holds.length ? 1 : 0, ...fields])
    }
    return true
  }

  return {
    async take(book, hold, maxima) {
      const asked = onFault<HoldTaken | undefined>(
        () => takeOne(book, hold, maxima),
        () => undefined,
      )
      return timeout(asked)
    },
    keep: async (book, ids, forMs, withinMs = 0) =>
      (await onFault(
        () => keepAll(book, ids, forMs, withinMs),
        () => false,
      )) === true,
    load: async (book, holds) =>
      (await onFault(
        () => loadAll(book, holds),
        () => false,
      )) === true,
  }
}
