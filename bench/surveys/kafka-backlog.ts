/**
 * A backlog: 100,000 reservations wait in the outbox, and a worker begins. How fast they become rows, through Kafka beside straight from the outbox,
 * in turn; the curve of what is still unplaced; through Kafka also what the topic still holds for the worker (its lag, by its own metrics).
 * CPU time per order of worker, Redis, broker and PostgreSQL, with the start of the worker in it: the same on both ways.
 */

import { RedisGate } from '../../src/gate/redis/redis-gate.ts'
import type { Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { freshAsk } from '../client/asks.ts'
import { cpuMicros, placePostgres } from '../cores.ts'
import { openWays, type Way } from '../servers/kafka.ts'
import { ADMIN_TOKEN, type ItemOnSale, type Stampede } from '../servers/stampede.ts'

const BACKLOG = 100_000
const BACKLOG_BLINK = 500
const BATCH = 128
const TURNS = 3
const LOOK_EVERY_MS = 100
const DRAIN_MS_MAX = 300_000
/** Of a curve. */
const POINTS_MAX = 12

interface Look {
  readonly atMs: number
  readonly unplaced: number
  /** Messages in the topic that were not placed. Undefined: no Kafka, or no answer yet. */
  readonly lag: number | undefined
}

interface Drain {
  readonly perSecond: number
  readonly cpuMicros: number
  readonly curve: readonly Look[]
}

export const kafkaBacklog: Survey = {
  name: 'kafka backlog',
  byName: true,
  needs: ['redis-server'],
  async run(stage, print) {
    placePostgres(stage.stampede.postgres.pid, 'any core')
    const { ways, stop } = await openWays(stage.clock, stage.stampede.postgres, 'edge,keeper')
    const violations: string[] = []
    try {
      const count = stage.blink ? BACKLOG_BLINK : BACKLOG
      const drains = new Map<string, Drain[]>(ways.map(({ name }) => [name, []]))
      for (let turn = 1; turn <= (stage.blink ? 1 : TURNS); turn++) {
        for (const way of ways) {
          const drain = await drained(stage, way, count, violations)
          drains.get(way.name)!.push(drain)
          print(`${this.name}, turn ${turn}: ${way.name} ${Math.round(drain.perSecond)}/s`)
        }
      }
      const what = `${count} reservations that wait in the outbox become rows`
      return { name: this.name, what, figures: figuresOf(drains), violations }
    } finally {
      await stop()
    }
  },
}

/** One backlog, and its end. */
async function drained({ clock, stampede }: Stage, way: Way, count: number, violations: string[]): Promise<Drain> {
  const on = await way.server.openSale({ units: count })
  await reserve(way, on, count)
  const pids = [...way.besidePids]
  const used = () => pids.reduce((sum, pid) => sum + (cpuMicros(pid) ?? 0), cpuMicros(stampede.postgres.pid, true) ?? 0)
  const before = used()
  const worker = await way.beside('worker')
  const curve: Look[] = []
  const lateMs = clock.elapsed() + DRAIN_MS_MAX
  for (;;) {
    const [placed, lag] = await Promise.all([way.placed(on.item), lagOf(worker)])
    curve.push({ atMs: clock.elapsed(), unplaced: count - placed, lag })
    if (placed >= count) break
    if (clock.elapsed() > lateMs) {
      violations.push(`${way.name}: ${count - placed} of ${count} were not placed within ${DRAIN_MS_MAX} ms`)
      break
    }
    await clock.sleep(LOOK_EVERY_MS)
  }
  pids.push(worker.pid)
  const cpu = (used() - before) / count
  await worker.stop()
  // From the last look at which nothing was placed; a worker begins before it says that it is ready.
  const begin = curve.findLast(look => look.unplaced === count) ?? curve[0]!
  const tookMs = Math.max(LOOK_EVERY_MS, curve.at(-1)!.atMs - begin.atMs)
  const from = curve.filter(look => look.atMs >= begin.atMs).map(look => ({ ...look, atMs: look.atMs - begin.atMs }))
  return { perSecond: (begin.unplaced / tookMs) * 1000, cpuMicros: cpu, curve: from }
}

/** As an edge does it, without the clicks: batches, straight at the gate. */
async function reserve({ server, redis }: Way, { sale, item }: ItemOnSale, count: number): Promise<void> {
  const { items } = (await server.operate('GET', `/sales/${sale}/audit`)) as { items: { epoch: number }[] }
  const gate = new RedisGate(redis.connection)
  for (let done = 0; done < count; ) {
    const asks = Array.from({ length: Math.min(BATCH, count - done) }, freshAsk)
    const reply = await gate.reserve(item, items[0]!.epoch, asks)
    const reserved = 'answers' in reply ? reply.answers.filter(({ code }) => code === 'reserved').length : 0
    if (reserved !== asks.length) throw new Error(`the gate did not reserve: ${JSON.stringify(reply).slice(0, 200)}`)
    done += reserved
  }
}

async function lagOf({ target }: Stampede): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const text = await (await fetch(`http://${target.host}:${target.port}/metrics`, { headers })).text()
  const line = /^stampede_kafka_lag_messages (\S+)$/m.exec(text)
  return line === null ? undefined : Number(line[1])
}

function figuresOf(drains: ReadonlyMap<string, readonly Drain[]>): SurveyFigure[] {
  const straight = drains.get('straight')!
  const figures: SurveyFigure[] = []
  for (const [name, list] of drains) {
    const figure = (group: string, unit: string, of: (drain: Drain) => number) => {
      const value = median(list.map(of))
      const ratio = name === 'straight' ? undefined : median(list.map((drain, i) => of(drain) / of(straight[i]!)))
      figures.push({ group, at: name, value, unit, ...(ratio !== undefined && { ratio }) })
    }
    figure('drained, median of the turns', 'orders/s', drain => drain.perSecond)
    figure('CPU, all processes', 'µs per order', drain => drain.cpuMicros)
  }
  for (const [name, list] of drains) {
    // Of the last turn: the code is warm by then.
    const { curve } = list.at(-1)!
    const every = Math.max(1, Math.ceil(curve.length / POINTS_MAX))
    const points = curve.filter((_, i) => i % every === 0 || i === curve.length - 1)
    const at = ({ atMs }: Look) => `${(atMs / 1000).toFixed(1)} s`
    for (const look of points)
      figures.push({ group: `${name}: unplaced`, at: at(look), value: look.unplaced, unit: 'orders' })
    for (const look of points)
      if (look.lag !== undefined)
        figures.push({ group: `${name}: lag`, at: at(look), value: look.lag, unit: 'messages' })
  }
  return figures
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
