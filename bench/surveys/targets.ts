/**
 * The targets that the first designs named, measured in a cluster (edge, worker, keeper, Redis and PostgreSQL, each a process of its own) under a steady
 * mixed load: a few buy, more are refused, most look at the sale. The last target needs a fault: the outbox's count is made wrong, and it is
 * measured how long it takes until that is found. The ratio is the figure over its target: below 1 it is met.
 */

import { systemRandom } from '../../src/base/random.ts'
import type { Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { freshOrders } from '../client/buyers.ts'
import { runOpenLoop } from '../client/open-loop.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { type Cluster, startCluster } from '../servers/cluster.ts'
import { ADMIN_TOKEN, type ItemOnSale, type Stampede } from '../servers/stampede.ts'

const PER_SECOND = 3_000
const LOAD_MS = 30_000
const UNITS = 1_000_000
const FENCE_MS = 5_000
const CONNECTIONS = 256
const REFUSED = 2_000
const SAMPLE_MS = 250
const FOUND_MS_MAX = 300_000
const HOUR_MS = 3_600_000
const BUSY = 503
/** Of so many requests one buys, some are refused, and all others look at the sale, as most of a crowd does. */
const MIX = { of: 30, refused: 5 }
const TARGETS = { misses: 0.001, queueLagS: 1, ledgerLagS: 5, foundS: 180, p99Ms: 100, unavailable: 0.001 }

export const targets: Survey = {
  name: 'targets',
  byName: true,
  needs: ['redis-server'],
  async run(stage, print) {
    const cluster = await startCluster(stage.clock, FENCE_MS)
    try {
      const violations: string[] = []
      const on = await cluster.edge.openSale({ units: UNITS })
      const figures = await underLoad(stage, cluster, on, violations)
      print(`${this.name}: load measured`)
      // Half a minute until the next comparison: too long for a look whether everything runs.
      if (!stage.blink) figures.push(await untilFound(stage, cluster, on, violations))
      return { name: this.name, what: 'the targets, each figure over its target', figures, violations }
    } finally {
      await cluster.stop()
    }
  },
}

async function underLoad(
  { clock, blink }: Stage,
  cluster: Cluster,
  on: ItemOnSale,
  violations: string[],
): Promise<SurveyFigure[]> {
  const { edge } = cluster
  const { target } = edge
  const forMs = blink ? 1_000 : LOAD_MS
  const buying = freshOrders(
    { stampede: edge, clock },
    target,
    [on],
    Math.ceil((PER_SECOND * forMs) / MIX.of / 1_000) * 2,
  )
  const refused = await soldOut(clock.now() + HOUR_MS, edge)
  const look = Buffer.from(
    `GET /api/sales/${on.sale} HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n\r\n`,
    'latin1',
  )
  const over = new AbortController()
  const lags = sampleLags(clock, cluster, over.signal)
  let sent = 0
  const result = await runOpenLoop({
    ...{ target, clock, forMs, random: systemRandom },
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    restMs: 1,
    next() {
      sent += 1
      const turn = sent % MIX.of
      if (turn === 0) return buying.pop()
      return turn <= MIX.refused ? refused[sent % refused.length] : look
    },
  })
  over.abort()
  const queueLagS = await lags
  const busy = (result.statuses.get(BUSY) ?? 0) + result.broken
  for (const [status, times] of result.statuses)
    if (![200, 201, 202, 409, BUSY].includes(status)) violations.push(`${times} × status ${status}`)
  const read = await scrape(edge)
  const misses =
    sumOf(read, /^stampede_catalog_reads_total\{layer="ledger"/) /
    sumOf(read, /^stampede_catalog_reads_total\{layer="memory"/)
  const ledgerLagS = highestBucket(await scrape(cluster.worker), 'stampede_outbox_age_seconds')
  const p99 = result.latency.quantile(0.99)
  const unavailable = busy / (result.answers + result.broken)
  return [
    figure('cache hits', 'above 99.9 %', 100 * (1 - misses), '%', misses / TARGETS.misses),
    figure('queue lag, the longest', 'under 1 s', queueLagS, 's', queueLagS / TARGETS.queueLagS),
    figure('ledger lag, the longest', 'under 5 s', ledgerLagS, 's at most', ledgerLagS / TARGETS.ledgerLagS),
    figure('99th percentile of answers', 'under 100 ms', p99, 'ms', p99 / TARGETS.p99Ms),
    figure('available', 'above 99.9 %', 100 * (1 - unavailable), '%', unavailable / TARGETS.unavailable),
  ]
}

function figure(group: string, at: string, value: number, unit: string, ratio: number): SurveyFigure {
  return { group, at, value, unit, ratio, aim: { most: 1 } }
}

/** Requests for an item that is sold out, each of another buyer. */
async function soldOut(expiresAtMs: number, edge: Stampede): Promise<readonly Buffer[]> {
  const on = await edge.openSale({ units: 1 })
  const ticketOf = (buyer: string) => edge.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })
  await edge.ask(on, ticketOf('the-one-who-got-it'))
  return Array.from({ length: REFUSED }, (_, i) =>
    orderRequest(edge.target, on.sale, on.item, ticketOf(`refused-${i}`)),
  )
}

/** How long the oldest batch in the outbox had waited, at most, in seconds. */
async function sampleLags(clock: Stage['clock'], { worker }: Cluster, signal: AbortSignal): Promise<number> {
  let most = 0
  while (!signal.aborted) {
    most = Math.max(most, sumOf(await scrape(worker), /^stampede_outbox_waiting_seconds /))
    await clock.sleep(SAMPLE_MS, signal)
  }
  return most
}

/** The outbox's count is made wrong, as a program that writes to Redis could. */
async function untilFound(
  { clock }: Stage,
  cluster: Cluster,
  on: ItemOnSale,
  violations: string[],
): Promise<SurveyFigure> {
  const found = async () => sumOf(await scrape(cluster.keeper), /^stampede_reconciliation_total\{kind="difference"/)
  const before = await found()
  await cluster.redis.command('HINCRBY', `{${on.item}}:outboxes`, '1', '5')
  const fromMs = clock.elapsed()
  while ((await found()) === before && clock.elapsed() - fromMs < FOUND_MS_MAX) await clock.sleep(SAMPLE_MS)
  const seconds = (clock.elapsed() - fromMs) / 1_000
  if ((await found()) === before) violations.push('a difference of stock was not found')
  return figure('a difference of stock is found', 'within 3 min', seconds, 's', seconds / TARGETS.foundS)
}

async function scrape({ target }: Pick<Stampede, 'target'>): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  return (await fetch(`http://${target.host}:${target.port}/metrics`, { headers })).text()
}

function sumOf(metrics: string, series: RegExp): number {
  return metrics
    .split('\n')
    .filter(line => series.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** The upper end of the highest bucket that has anything. */
function highestBucket(metrics: string, name: string): number {
  let most = 0
  let before = 0
  for (const [, le = '', count = ''] of metrics.matchAll(
    new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)$`, 'gm'),
  )) {
    if (Number(count) > before) most = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    before = Number(count)
  }
  return most
}
