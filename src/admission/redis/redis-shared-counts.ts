/**
 * The shared counts on Redis: each batch is one script call per algorithm, decided in one step by the server and by its clock
 * (`scripts/`). Where several servers share the keys, one call for each group of lanes that may be named together; a group whose server
 * does not answer is `undefined`, the others stand.
 *
 * Every key has a lifetime, holds a hash and never an address or a name, and is about 200 to 500 bytes. Losing them costs exactness for
 * as long as it takes the edges to join again, and nothing else: nothing here is written durably on purpose.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { type Script, scriptsIn } from '../../base/redis/script.ts'
import { LANES, laneOf, type SharedAnswer, type SharedAsk, type SharedCounts } from '../shared-counts.ts'

interface RedisSharedCountsOptions {
  readonly connection: Pick<RedisConnection, 'run' | 'command' | 'together' | 'subscribe' | 'database'>
  readonly random: Random
  /** Of a simulation: unix ms. Without it the server's own clock counts. */
  readonly nowMs?: () => number
}

/** Whoever was silent for so long is not counted as an edge. */
const PRESENT_MS = 3_000
/** What one script call may hold: the server does nothing else meanwhile. */
const KEYS_MAX = 256
const RESTS = ['none', 'full', 'waits', 'join'] as const
/** A bucket's units in a script. */
const THOUSAND = 1_000

const laneTag = (lane: number) => `rate:{${lane.toString(16)}}`
const edgesKey = (lane: number) => `${laneTag(lane)}:edges`
const keyOf = ({ limit, id, rate }: SharedAsk) =>
  `${laneTag(laneOf(id))}:${limit}:${rate.burst === undefined ? 'window' : 'bucket'}:${id}`
const KEY = /^rate:\{[0-9a-f]\}:([a-z-]{1,40}):(?:window|bucket):([0-9a-f]{16})$/

export function createRedisSharedCounts({ connection, random, nowMs }: RedisSharedCountsOptions): SharedCounts {
  const edge = Buffer.from(random.bytes(4)).toString('hex')
  const channel = `stampede:${connection.database}:limits`
  const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
  const scripts = {
    window: readScript('window', 'grows'),
    bucket: readScript('bucket', 'grows'),
    present: readScript('present', 'grows'),
  }
  const lanes = Array.from({ length: LANES }, (_, lane) => edgesKey(lane))
  const now = () => String(nowMs?.() ?? 0)

  /** One call for each group of keys, in slices; what a call answers to its keys is put down, `width` numbers each. */
  async function runTogether(
    script: Script,
    keys: readonly string[],
    argsOf: (group: readonly string[]) => readonly (string | number)[],
    put: (key: string, numbers: readonly number[]) => void,
    width: number,
  ): Promise<void> {
    const groups = connection
      .together(keys)
      .flatMap(group => Array.from({ length: Math.ceil(group.length / KEYS_MAX) }, (_, n) => sliceOf(group, n)))
    await Promise.all(
      groups.map(async group => {
        try {
          const numbers = numbersOf(await connection.run(script, group, argsOf(group)), group.length * width)
          for (const [i, key] of group.entries()) put(key, numbers.slice(i * width, (i + 1) * width))
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
      }),
    )
  }

  return {
    async ask(asks) {
      const byKey = new Map(asks.map(ask => [keyOf(ask), ask]))
      assert(byKey.size === asks.length, 'a key was asked about twice in one batch')
      const answers = new Map<string, SharedAnswer>()
      const put = (key: string, [granted = 0, rest = 0, untilMs = 0]: readonly number[]) => {
        const ask = byKey.get(key)
        const name = RESTS[rest]
        assert(
          ask !== undefined && name !== undefined && granted >= 0 && granted <= ask.want,
          'granted what nobody asked',
        )
        answers.set(key, { granted, rest: name, untilMs })
      }
      const argsOf = (group: readonly string[]) => [
        now(),
        edge,
        channel,
        ...group.flatMap(key => fields(byKey.get(key)!)),
      ]
      const keysOf = (isBucket: boolean) => [...byKey].filter(([, { rate }]) => (rate.burst !== undefined) === isBucket)
      await Promise.all([
        runTogether(
          scripts.window,
          keysOf(false).map(([key]) => key),
          argsOf,
          put,
          3,
        ),
        runTogether(
          scripts.bucket,
          keysOf(true).map(([key]) => key),
          argsOf,
          put,
          3,
        ),
      ])
      return asks.map(ask => answers.get(keyOf(ask)))
    },

    async present() {
      const counts = new Map<string, number>()
      const put = (key: string, [count = 0]: readonly number[]) => void counts.set(key, count)
      await runTogether(scripts.present, lanes, () => [now(), edge, PRESENT_MS], put, 1)
      return lanes.map(key => counts.get(key))
    },

    async leave() {
      const gone = lanes.map(key => connection.command(['ZREM', key, edge], key))
      for (const { reason } of (await Promise.allSettled(gone)).filter(one => one.status === 'rejected'))
        if (!(reason instanceof Fault)) throw reason
    },

    onCall(listener) {
      const hear = (message: string) => {
        const [by, ...keys] = message.split(' ')
        if (by === edge) return
        for (const key of keys.slice(0, KEYS_MAX)) {
          const [, limit, id] = KEY.exec(key) ?? []
          if (limit !== undefined && id !== undefined) listener(limit, id)
        }
      }
      // Whoever waits for us calls again, so a gap needs no mending. It stands or the connection is closed: it never rejects.
      void connection.subscribe(channel, hear, () => {})
    },
  }
}

function sliceOf(group: readonly string[], n: number): readonly string[] {
  return group.slice(n * KEYS_MAX, (n + 1) * KEYS_MAX)
}

function fields({ rate, edges, kept, want, late, joins }: SharedAsk): readonly number[] {
  const { count, windowMs, burst } = rate
  const unit = burst === undefined ? 1 : THOUSAND
  const pieces = joins?.flatMap(({ ageMs, units }) => [Math.floor(ageMs), Math.ceil(units * unit)]) ?? []
  return [count, windowMs, burst ?? 0, edges, kept, want, late, joins?.length ?? -1, ...pieces]
}

function numbersOf(reply: unknown, count: number): readonly number[] {
  assert(Array.isArray(reply) && reply.length === count, `a script answered ${JSON.stringify(reply)}`)
  for (const number of reply) assert(Number.isSafeInteger(number), `a script answered ${JSON.stringify(reply)}`)
  return reply as readonly number[]
}
