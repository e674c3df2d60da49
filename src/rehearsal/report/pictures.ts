/** The report's five pictures, each drawn from the result alone. */

import type { Rehearsal } from '../result.ts'
import { whole } from '../verdict/verdict.ts'
import { area, draw, line, linear, linearFromZero, mark, nines, type Points, quote, rooted, steps } from './plot.ts'

const WIDE = { width: 1040, height: 300 }
const HALF = { width: 510, height: 290 }
const COLUMNS = 150
const FUNNEL_ROW = 50

const trim = (value: number) => String(Number(value.toFixed(1)))
const short = (value: number) => {
  if (value >= 1e6) return `${trim(value / 1e6)}M`
  return value >= 1000 ? `${trim(value / 1000)}k` : trim(value)
}
const inSeconds = (ms: number) => `${trim(ms / 1000)} s`
const asLatency = (ms: number) => (ms >= 1000 ? inSeconds(ms) : `${trim(ms)} ms`)

/** Added up: the gap between clicks and answers is the queue, and the slope is the speed. */
export function trafficPicture({ timeline, lastAnswerMs, fault }: Rehearsal): string {
  const { fromMs, stepMs } = timeline
  const stepCount = Math.ceil((Math.max(lastAnswerMs, 1_000) + 250 - fromMs) / stepMs)
  const perColumn = Math.max(1, Math.ceil(stepCount / COLUMNS))
  const columns = Math.ceil(stepCount / perColumn)
  const atMs = (column: number) => fromMs + column * perColumn * stepMs
  const sums = (counts: readonly number[]) => {
    let sum = 0
    return Array.from({ length: columns + 1 }, (_, i) => {
      for (let step = (i - 1) * perColumn; step < i * perColumn; step++) sum += counts[step] ?? 0
      return sum
    })
  }
  const clicks = sums(timeline.clicks)
  let below: readonly number[] = clicks.map(() => 0)
  const points = (values: readonly number[]): Points => values.map((value, i) => [atMs(i), value])
  const stack = (['orders', 'later', 'errors', 'refusals'] as const).map(kind => {
    const lower = below
    below = sums(timeline[kind]).map((value, i) => value + lower[i]!)
    return { kind, upper: points(below), lower: points(lower) }
  })
  return draw({
    ...WIDE,
    title: 'Clicks and answers over time, added up',
    x: linear(fromMs, atMs(columns), 9, inSeconds),
    y: linearFromZero(Math.max(...clicks), 4, short),
    xName: 'from the opening',
    yName: 'so far',
    layers: scale => [
      ...stack.map(({ kind, upper, lower }) => area(scale, kind, upper, lower)),
      mark(scale, 'opening', 0, 'opening'),
      line(scale, 'clicks', points(clicks)),
      faultMark(scale, fault),
    ],
  })
}

export function latencyPicture({ latency, clickToRow }: Rehearsal): string {
  return draw({
    ...HALF,
    title: 'Latency by percentile, all clicks and placed orders',
    x: nines(4),
    y: linearFromZero(Math.max(latency.max, clickToRow.max), 4, asLatency),
    xName: 'share of answers that were faster',
    yName: 'latency',
    layers: scale => [line(scale, 'refusals', latency.curve), line(scale, 'orders', clickToRow.curve)],
  })
}

/** How many of the placed orders were committed after so long. */
export function rowPicture({ clickToRow }: Rehearsal): string {
  const { p99, max } = clickToRow
  // The few orders for returned units come late and would compress all others into a corner.
  const mostMs = max > 4 * p99 ? p99 * 1.3 : max
  const shown = clickToRow.curve.filter(([, ms]) => ms <= mostMs)
  const points: Points = [[0, 0], ...shown.map(([share, ms]) => [ms, share] as const)]
  return draw({
    ...HALF,
    title: 'Time from click to committed row',
    x: linear(0, mostMs || 1, 5, asLatency),
    y: linear(0, 1, 4, share => `${Math.round(share * 100)}%`),
    xName: 'from the buyer’s first click',
    yName: 'orders committed',
    layers: scale => [area(scale, 'orders', points), line(scale, 'orders', points)],
  })
}

export function stockPicture({ stock, lastAnswerMs, settings, fault }: Rehearsal): string {
  // Not as arguments of one call: there may be a million.
  const lastMs = stock.reduce((last, [atMs]) => Math.max(last, atMs), Math.max(1_000, lastAnswerMs))
  const last = stock.at(-1)
  const all = last === undefined ? stock : [...stock, [lastMs, last[1]] as const]
  return draw({
    ...HALF,
    title: 'Units on sale over time',
    x: rooted(lastMs, asLatency),
    y: linearFromZero(settings.units, 4, short),
    xName: 'from the opening, stretched at its beginning',
    yName: 'units left',
    layers(scale) {
      const points = steps(lastOfEachHalfPixel(all, scale))
      return [area(scale, 'later', points), line(scale, 'later', points), faultMark(scale, fault)]
    },
  })
}

/** More than two points a pixel are invisible, and a page with a million points would not open. */
function lastOfEachHalfPixel(points: Points, scale: Parameters<typeof line>[0]): Points {
  const kept: Points[number][] = []
  const column = (atMs: number) => Math.floor(2 * scale.x(atMs))
  for (const [atMs, left] of points) {
    const x = Math.max(0, atMs)
    if (kept.length > 1 && column(kept.at(-1)![0]) === column(x)) kept.pop()
    kept.push([x, left])
  }
  return kept
}

/** The moment of the fault, if there was one. */
function faultMark(scale: Parameters<typeof mark>[0], fault: Rehearsal['fault']): string {
  return fault === null || fault.atMs === null ? '' : mark(scale, 'fault', fault.atMs, `${fault.part} killed`)
}

/** Logarithmic: otherwise a thousand of a hundred thousand would be invisible. */
export function funnelPicture({ funnel }: Rehearsal): string {
  const { width } = HALF
  const most = Math.log10(1 + Math.max(1, ...funnel.map(({ count }) => count)))
  const rows = funnel.map(({ name, count }, i) => {
    const bar = Math.max(3, Math.round((Math.log10(1 + count) / most) * (width - 20)))
    const y = 14 + i * FUNNEL_ROW
    const text = (kind: string, at: number, value: string) =>
      `<text class="${kind}" x="${width / 2}" y="${at}" text-anchor="middle">${value}</text>`
    return `<rect class="funnel f${i}" x="${(width - bar) / 2}" y="${y}" width="${bar}" height="${FUNNEL_ROW - 8}" rx="6"/>
${text('count', y + 21, whole(count))}${text('step', y + 37, quote(name))}`
  })
  const title = quote(funnel.map(({ name, count }) => `${count} ${name}`).join(', '))
  return `<svg viewBox="0 0 ${width} ${14 + funnel.length * FUNNEL_ROW}" role="img" aria-label="${title}"><title>${title}</title>${rows.join('')}</svg>`
}
