/**
 * The shared counts on Redis: each batch is one script call, decided in one step by the server and by its clock (`scripts/`).
 * On a Redis Cluster, one call for each group of partitions that may be named together; a group whose server does not answer is
 * `undefined`, the others are decided.
 *
 * Every key expires, holds a hash and never an address or a name, and has about 200 to 500 bytes. Losing them costs exactness until the
 * edges have joined again, and nothing else: on purpose nothing here is written durably.
 */

import { assert } from '../../base/assert.ts'
import { onFault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { type Script, scriptsIn } from '../../base/redis/script.ts'
import {
  type LimitsOfEdges,
  PARTITIONS,
  partitionOf,
  type SharedAnswer,
  type SharedAsk,
  type SharedCounts,
} from '../shared-counts.ts'

interface RedisSharedCountsOptions {
  readonly connection: Pick<RedisConnection, 'run' | 'command' | 'together' | 'subscribe' | 'database'>
  readonly random: Random
  /** For simulations: unix ms. Without it the server's clock is used. */
  readonly nowMs?: () => number
}

/** An edge that was silent for so long is not counted. */
const PRESENT_MS = 3_000
/** Per script call: the server does nothing else meanwhile. */
const KEYS_MAX = 256
const RESTS = ['none', 'full', 'waits', 'join'] as const
/** Scripts count a bucket in thousandths. */
const THOUSAND = 1_000

const tagOf = (partition: number) => `rate:{${partition.toString(16)}}`
const keyOf = ({ limit, id, rate }: SharedAsk) =>
  `${tagOf(partitionOf(id))}:${limit}:${rate.burst === undefined ? 'window' : 'bucket'}:${id}`
const KEY = /^rate:\{[0-9a-f]\}:([a-z-]{1,40}):(?:window|bucket):([0-9a-f]{16})$/

export function createRedisSharedCounts({ connection, random, nowMs }: RedisSharedCountsOptions): SharedCounts {
  const edge = Buffer.from(random.bytes(4)).toString('hex')
  const channel = `stampede:${connection.database}:limits`
  const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
  const scripts = {
    admit: readScript('admit', 'grows'),
    announce: readScript('announce', 'grows'),
    compare: readScript('compare', 'grows'),
  }
  const edgeKeys = Array.from({ length: PARTITIONS }, (_, partition) => `${tagOf(partition)}:edges`)
  const limitsKey = `${tagOf(0)}:limits`
  const now = () => String(nowMs?.() ?? 0)

  /** Runs the script on all keys, in groups; `put` gets the `width` numbers that it answered for each key. Faults leave their keys out. */
  async function runOn(
    script: Script,
    keys: readonly string[],
    argsOf: (group: readonly string[]) => readonly (string | number)[],
    put: (key: string, numbers: readonly number[]) => void,
    width: number,
  ): Promise<void> {
    const run = async (group: readonly string[]) => {
      const numbers = numbersOf(await connection.run(script, group, argsOf(group)), group.length * width)
      for (const [i, key] of group.entries()) put(key, numbers.slice(i * width, (i + 1) * width))
    }
    const groups = connection.together(keys).flatMap(slicesOf)
    await Promise.all(groups.map(group => onFault(() => run(group))))
  }

  return {
    async ask(asks) {
      const byKey = new Map(asks.map(ask => [keyOf(ask), ask]))
      assert(byKey.size === asks.length, 'a key was asked about twice in one batch')
      const answers = new Map<string, SharedAnswer>()
      const put = (key: string, [granted = 0, no = 0, untilMs = 0]: readonly number[]) => {
        const rest = RESTS[no]
        assert(rest !== undefined && granted >= 0 && granted <= byKey.get(key)!.want, 'more was granted than asked for')
        answers.set(key, { granted, rest, untilMs })
      }
      const argsOf = (group: readonly string[]) => {
        const fields = group.flatMap(key => fieldsOf(byKey.get(key)!))
        return [now(), edge, channel, ...fields]
      }
      await runOn(scripts.admit, [...byKey.keys()], argsOf, put, 3)
      return asks.map(ask => answers.get(keyOf(ask)))
    },

    async announce() {
      const counts = new Map<string, number>()
      const put = (key: string, [count = 0]: readonly number[]) => void counts.set(key, count)
      await runOn(scripts.announce, edgeKeys, () => [now(), edge, PRESENT_MS], put, 1)
      return edgeKeys.map(key => counts.get(key))
    },

    compare(limits) {
      return onFault(async () => {
        const reply = await connection.run(scripts.compare, [limitsKey], [now(), edge, PRESENT_MS, limits])
        assert(Array.isArray(reply) && reply.length % 2 === 0, `a script answered ${JSON.stringify(reply)}`)
        const found: LimitsOfEdges[] = []
        for (let i = 0; i < reply.length; i += 2) found.push({ limits: String(reply[i]), edges: Number(reply[i + 1]) })
        return found
      })
    },

    async leave() {
      const remove = (key: string) => connection.command(['ZREM', key, edge], key)
      await Promise.all(edgeKeys.map(key => onFault(() => remove(key))))
    },

    onJoinRequest(listener) {
      const onMessage = (message: string) => {
        const [by, ...keys] = message.split(' ')
        if (by === edge) return
        for (const key of keys.slice(0, KEYS_MAX)) {
          const [, limit, id] = KEY.exec(key) ?? []
          if (limit !== undefined && id !== undefined) listener(limit, id)
        }
      }
      // An edge that waits repeats its request, so a gap needs no repair. Never rejects: it subscribes, or the connection is closed.
      void connection.subscribe(channel, onMessage, () => {})
    },
  }
}

function slicesOf(group: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(group.length / KEYS_MAX)
  return Array.from({ length: count }, (_, n) => group.slice(n * KEYS_MAX, (n + 1) * KEYS_MAX))
}

function fieldsOf({ rate, edges, kept, want, late, joins }: SharedAsk): readonly number[] {
  const { count, windowMs, burst } = rate
  const unit = burst === undefined ? 1 : THOUSAND
  const slices = joins?.flatMap(({ ageMs, units }) => [Math.floor(ageMs), Math.ceil(units * unit)]) ?? []
  return [count, windowMs, burst ?? 0, edges, kept, want, late, joins?.length ?? -1, ...slices]
}

function numbersOf(reply: unknown, count: number): readonly number[] {
  const isValid = Array.isArray(reply) && reply.length === count && reply.every(Number.isSafeInteger)
  assert(isValid, `a script answered ${JSON.stringify(reply)}`)
  return reply as readonly number[]
}
