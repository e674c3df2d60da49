/**
 * The gate in Redis: reservations acknowledged per second, each on disk before the answer (`appendfsync always`), in batches as an edge
 * makes them: through the same queue and gate, with two batches of asks under way, so that one is at the gate while the next collects.
 * Beside the same script with one ask per call and as many asks under way: once through the same gate (`one by one`), and once as prepared
 * bytes over plain sockets (`bare`), which leaves out the client's cost. All of them pipeline; `bare` may use several connections, and the
 * best number is taken: Redis syncs once for everything it has read at a time, so a single connection might flatter us. Then the same
 * with `appendfsync no`: the difference without waiting for a disk.
 *
 * Reservations are not placed: every round has its own item, and afterwards the gate's count is compared with what was acknowledged.
 */

import { createBatcher } from '../../src/base/batching/batcher.ts'
import { nextTurn } from '../../src/base/clock.ts'
import type { Ask } from '../../src/gate/gate.ts'
import { buyersKey, gateKey, messageChannel, ordersKey, outboxesKey, outboxKey } from '../../src/gate/redis/keys.ts'
import { RedisGate } from '../../src/gate/redis/redis-gate.ts'
import { readScript } from '../../src/gate/redis/scripts.ts'
import type { BenchCase, Contestant, PreparedCase, Stage } from '../bench-case.ts'
import { freshAsk, RESERVED, runAsks } from '../client/asks.ts'
import { bytesOfCall, runBareAsks } from '../client/bare-asks.ts'
import type { LoadResult } from '../client/closed-loop.ts'
import { type Fsync, type Redis, startBenchRedis } from '../servers/redis.ts'

const EPOCH = 1
const UNITS = 100_000_000
const HOUR_MS = 3_600_000
/** No worker empties the outbox here. */
const OUTBOX_MAX = 1_000_000_000
const BARE_CALLS_PER_SECOND = 100_000
const CONNECTIONS_TRIED = [1, 8, 64]
const TRY_MS = 300

export const redisGate: readonly BenchCase[] = (['always', 'no'] as const).flatMap(fsync =>
  [128, 500].map(batchMax => ({
    name: `redis gate, batches of ${batchMax}, appendfsync ${fsync}`,
    what: 'reservations acknowledged by the gate in Redis, in batches, beside one script call per ask',
    aims: fsync === 'always' ? { 'one by one': { rate: 4 }, bare: { rate: 4 } } : {},
    needs: ['redis-server'],
    onlyWhenNamed: true,
    prepare: (stage: Stage) => prepare(stage, batchMax, fsync),
  })),
)

async function prepare(stage: Stage, batchMax: number, fsync: Fsync): Promise<PreparedCase> {
  const redis = await startBenchRedis(fsync)
  try {
    const gate = createGateOnSale(redis)
    const underWay = 2 * batchMax
    const violations = new Set<string>()
    const contestant = (
      name: string,
      load: (item: string, forMs: number) => () => Promise<LoadResult>,
    ): Contestant => ({
      name,
      serverPid: redis.pid,
      async prepare(forMs) {
        const item = await gate.nextItem()
        const run = load(item, forMs)
        return async () => {
          const result = await run()
          const reserved = result.statuses.get(RESERVED) ?? 0
          const held = await gate.held(item)
          if (result.answers !== reserved) violations.add(`${name}: ${result.answers - reserved} asks not reserved`)
          if (held !== reserved) violations.add(`${name}: ${reserved} were told "reserved", the gate holds ${held}`)
          return result
        }
      },
    })
    const { clock } = stage
    const inBatches = (item: string, forMs: number) => () => {
      const queue = createBatcher<Ask, boolean>({
        batchMax,
        queueMax: underWay,
        defer: nextTurn,
        run: asks => gate.reserve(item, asks),
      })
      return runAsks({ underWay, forMs, clock, ask: async () => (await queue.join(freshAsk())) === true })
    }
    const oneByOne = (item: string, forMs: number) => () =>
      runAsks({ underWay, forMs, clock, ask: async () => (await gate.reserve(item, [freshAsk()]))[0] === true })
    const bare = (connections: number) => (item: string, forMs: number) => {
      const count = underWay + Math.ceil((BARE_CALLS_PER_SECOND * forMs) / 1000)
      const calls = Array.from({ length: count }, () => gate.bytes(item, freshAsk()))
      let i = 0
      const next = () => calls[i++]
      return () => runBareAsks({ port: redis.port, sockets: connections, underWay, forMs, clock, next })
    }

    const tried: Record<number, number> = {}
    let best = CONNECTIONS_TRIED[0]!
    for (const connections of stage.blink ? [] : CONNECTIONS_TRIED) {
      const run = await contestant('bare', bare(connections)).prepare(TRY_MS)
      tried[connections] = Math.round((await run()).perSecond)
      if (tried[connections] > (tried[best] ?? 0)) best = connections
    }
    return {
      subject: contestant('batches', inBatches),
      references: [contestant('one by one', oneByOne), contestant('bare', bare(best))],
      settings: { underWay, folder: redis.folder, bareConnections: best, bareConnectionsTried: tried },
      check: async () => ({ violations: [...violations] }),
      close: redis.stop,
    }
  } catch (error) {
    await redis.stop()
    throw error
  }
}

function createGateOnSale({ connection }: Redis) {
  const gate = new RedisGate(connection, undefined, OUTBOX_MAX)
  const script = readScript('reserve', 'grows')
  const channel = messageChannel(connection.database)
  let items = 0
  return {
    /** Removes the last round's data: no round pays for another's memory. */
    async nextItem(): Promise<string> {
      items += 1
      const item = String(items)
      await connection.command(['FLUSHALL'])
      const { nowMs } = await gate.status([])
      const window = { state: 'open', opensAtMs: nowMs - HOUR_MS, closesAtMs: nowMs + HOUR_MS } as const
      const terms = { left: UNITS, held: 0, buyers: 0, attemptsMax: 1, changeNo: 0, stateNo: 0, ...window }
      const { status } = await gate.activate(item, EPOCH, terms)
      if (status !== 'done') throw new Error(`the gate could not be opened: ${status}`)
      // Prepared bytes can't load the script when it is missing.
      await connection.command(['SCRIPT', 'LOAD', script.text])
      return item
    },
    async reserve(item: string, asks: readonly Ask[]): Promise<boolean[]> {
      const reply = await gate.reserve(item, EPOCH, asks)
      return 'answers' in reply ? reply.answers.map(({ code }) => code === 'reserved') : asks.map(() => false)
    },
    async held(item: string): Promise<number | undefined> {
      return (await gate.status([item])).items[0]?.held
    },
    bytes(item: string, { order, buyer, attempt, quantity }: Ask): string {
      const keys = [
        gateKey(item),
        buyersKey(item, EPOCH),
        ordersKey(item, EPOCH),
        outboxKey(item, EPOCH),
        outboxesKey(item),
      ]
      const asks = JSON.stringify([order, buyer, String(attempt), String(quantity)])
      const args = [EPOCH, item, 0, OUTBOX_MAX, channel, 0, asks]
      return bytesOfCall(['EVALSHA', script.digest, keys.length, ...keys, ...args])
    },
  }
}
