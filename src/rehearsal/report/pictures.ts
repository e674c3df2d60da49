/** The report's five pictures, each from the result alone. */

import type { Latency, Rehearsal } from '../result.ts'
import { area, draw, line, linear, linearFromZero, mark, nines, quote, rooted, steps, whole } from './plot.ts'

const WIDE = { width: 1040, height: 300 }
const HALF = { width: 510, height: 290 }
const COLUMNS = 150

const short = (value: number) => {
  if (value >= 1e6) return `${trim(value / 1e6)}M`
  return value >= 1000 ? `${trim(value / 1000)}k` : trim(value)
}
const trim = (value: number) => String(Number(value.toFixed(1)))
const inSeconds = (ms: number) => `${trim(ms / 1000)} s`
const asLatency = (ms: number) => (ms >= 1000 ? inSeconds(ms) : `${trim(ms)} ms`)

/** Added up: the gap between clicks and answers is the line that people stood in, and the slope is the speed. */
export function trafficPicture({ timeline, lastAnswerMs, fault }: Rehearsal): string {
  const { fromMs, stepMs } = timeline
  const steps = Math.ceil((Math.max(lastAnswerMs, 1_000) + 250 - fromMs) / stepMs)
  const perColumn = Math.max(1, Math.ceil(steps / COLUMNS))
  const columns = Math.ceil(steps / perColumn)
  const sums = (counts: readonly number[]) => {
    let sum = 0
    return Array.from({ length: columns + 1 }, (_, i) => {
      for (let step = (i - 1) * perColumn; step < i * perColumn; step++) sum += counts[step] ?? 0
      return sum
    })
  }
  const atMs = (column: number) => fromMs + column * perColumn * stepMs
  const clicks = sums(timeline.clicks)
  const stack = (['orders', 'later', 'errors', 'refusals'] as const).map(name => ({ name, sum: sums(timeline[name]) }))
  return draw({
    ...WIDE,
    title: 'Clicks and answers over time, added up',
    x: linear(fromMs, atMs(columns), 9, inSeconds),
    y: linearFromZero(Math.max(...clicks), 4, short),
    xName: 'from the opening',
    yName: 'so far',
    layers(place) {
      let lower = clicks.map((_, i) => [place.x(atMs(i)), place.bottom] as const)
      const heights = clicks.map(() => 0)
      const areas = stack.map(({ name, sum }) => {
        const upper = sum.map((value, i) => {
          heights[i]! += value
          return [place.x(atMs(i)), place.y(heights[i]!)] as const
        })
        const drawn = area(name, upper, lower)
        lower = upper
        return drawn
      })
      const opening = mark('opening', place, 0, 'opening')
      const clicked = clicks.map((value, i) => [place.x(atMs(i)), place.y(value)] as const)
      return `${areas.join('')}${opening}${line('clicks', clicked)}${faultMark(fault, place)}`
    },
  })
}

/** The moment of the fault, where there was one. */
function faultMark(fault: Rehearsal['fault'], place: Parameters<typeof mark>[1]): string {
  return fault === null || fault.atMs === null ? '' : mark('fault', place, fault.atMs, `${fault.part} killed`)
}

export function latencyPicture({ latency, clickToRow }: Rehearsal): string {
  const most = Math.max(latency.max, clickToRow.max)
  return draw({
    ...HALF,
    title: 'Latency by percentile, all clicks and placed orders',
    x: nines(4),
    y: linearFromZero(most, 4, asLatency),
    xName: 'this share was answered faster',
    yName: 'latency',
    layers: place =>
      [['refusals', latency] as const, ['orders', clickToRow] as const]
        .map(([kind, { curve }]) =>
          line(
            kind,
            curve.map(([share, ms]) => [place.x(share), place.y(ms)] as const),
          ),
        )
        .join(''),
  })
}

/** How many of the placed orders were rows after so long. */
export function rowPicture({ clickToRow }: Rehearsal): string {
  const mostMs = rowScale(clickToRow)
  const seen = clickToRow.curve.filter(([, ms]) => ms <= mostMs)
  return draw({
    ...HALF,
    title: 'Time from click to committed row',
    x: linear(0, mostMs || 1, 5, asLatency),
    y: linear(0, 1, 4, share => `${Math.round(share * 100)}%`),
    xName: 'from the buyer’s first click',
    yName: 'orders committed',
    layers(place) {
      const points = [
        [place.x(0), place.y(0)] as const,
        ...seen.map(([share, ms]) => [place.x(ms), place.y(share)] as const),
      ]
      return (
        area('orders', points, [
          [points[0]![0], place.bottom],
          [points.at(-1)![0], place.bottom],
        ]) + line('orders', points)
      )
    },
  })
}

/** Those few who came back for returned units would squeeze everybody else into a corner. */
function rowScale({ p99, max }: Latency): number {
  return max > 4 * p99 ? p99 * 1.3 : max
}

export function stockPicture({ stock, lastAnswerMs, settings, fault }: Rehearsal): string {
  // Not as arguments of one call: there may be a million.
  const lastMs = stock.reduce((last, [atMs]) => Math.max(last, atMs), Math.max(1_000, lastAnswerMs))
  return draw({
    ...HALF,
    title: 'Units on sale over time',
    x: rooted(lastMs, asLatency),
    y: linearFromZero(settings.units, 4, short),
    xName: 'from the opening, stretched at its beginning',
    yName: 'units left',
    layers(place) {
      const last = stock.at(-1)
      const whole = last === undefined ? stock : [...stock, [lastMs, last[1]] as const]
      const points = steps(
        lastOfEachColumn(whole, ([atMs, left]) => [place.x(Math.max(0, atMs)), place.y(left)] as const),
      )
      if (points.length === 0) return faultMark(fault, place)
      const floor = [
        [points[0]![0], place.bottom],
        [points.at(-1)![0], place.bottom],
      ] as const
      return area('later', points, floor) + line('later', points) + faultMark(fault, place)
    },
  })
}

/** More than two points a pixel nobody sees, and a page of a million would not open. */
function lastOfEachColumn<T>(values: readonly T[], place: (value: T) => readonly [number, number]) {
  const kept: (readonly [number, number])[] = []
  for (const value of values) {
    const point = place(value)
    const before = kept.at(-1)
    const isSame = before !== undefined && Math.floor(2 * before[0]) === Math.floor(2 * point[0])
    if (isSame && kept.length > 1) kept.pop()
    kept.push(point)
  }
  return kept
}

/** Logarithmic: a thousand of a hundred thousand would be a hair otherwise. */
export function funnelPicture({ funnel }: Rehearsal): string {
  const { width } = HALF
  const rowHeight = 50
  const most = Math.log10(1 + Math.max(1, ...funnel.map(({ count }) => count)))
  const rows = funnel.map(({ name, count }, i) => {
    const share = Math.log10(1 + count) / most
    const bar = Math.max(3, Math.round(share * (width - 20)))
    const y = 14 + i * rowHeight
    const x = (width - bar) / 2
    return `<rect class="funnel f${i}" x="${x}" y="${y}" width="${bar}" height="${rowHeight - 8}" rx="6"/>
<text class="count" x="${width / 2}" y="${y + 21}" text-anchor="middle">${whole(count)}</text><text class="step" x="${width / 2}" y="${y + 37}" text-anchor="middle">${quote(name)}</text>`
  })
  const height = 14 + funnel.length * rowHeight
  const title = funnel.map(({ name, count }) => `${count} ${name}`).join(', ')
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${quote(title)}"><title>${quote(title)}</title>${rows.join('')}</svg>`
}
