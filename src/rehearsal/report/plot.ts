/** Small plots as SVG text: axes, areas, lines and steps. No script and no style: the page colours the classes. */

interface Axis {
  readonly ticks: readonly number[]
  /** The position of a value, from 0 to 1. */
  at(value: number): number
  show(value: number): string
}

/** From values to coordinates of the picture. */
interface Scale {
  x(value: number): number
  y(value: number): number
  readonly bottom: number
  readonly right: number
}

interface Plot {
  /** For screen readers. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly x: Axis
  readonly y: Axis
  readonly xName: string
  readonly yName: string
  readonly layers: (scale: Scale) => readonly string[]
}

/** In values, not in coordinates. */
export type Points = readonly (readonly [x: number, y: number])[]

const LEFT = 58
const RIGHT = 14
const TOP = 22
const BOTTOM = 40
/** The least distance of two ticks, as a share of the width. */
const TICK_ROOM = 0.14
/** A label nearer to the right edge than this would be cut off. */
const LABEL_ROOM = 24
/** Room for the name of a marked moment. */
const MARK_ROOM = 120

export function linear(min: number, max: number, ticksMax: number, show: (value: number) => string): Axis {
  const span = max - min || 1
  const step = niceStep(span / ticksMax)
  const ticks: number[] = []
  for (let tick = Math.ceil(min / step) * step; tick <= max + step / 1e6; tick += step) ticks.push(round(tick))
  return { ticks, show, at: value => (value - min) / span }
}

/** From zero to the first tick at or above the highest value. */
export function linearFromZero(max: number, ticksMax: number, show: (value: number) => string): Axis {
  const step = niceStep((max || 1) / ticksMax)
  return linear(0, Math.ceil((max || 1) / step) * step, ticksMax, show)
}

/** Stretched at the beginning, where most happens: the first quarter of the time takes half the width. */
export function rooted(max: number, show: (value: number) => string): Axis {
  const ticks = [0, ...[1, 10, 100, 1_000, 10_000, 100_000].flatMap(ten => [ten, ten * 2.5, ten * 5])]
  const at = (value: number) => Math.sqrt(value / max)
  // From the right, while there is room between them; zero is always shown.
  const shown: number[] = []
  for (const tick of ticks.filter(one => one <= max).reverse()) {
    const next = shown[0]
    if (tick === 0 || (at(tick) > TICK_ROOM && (next === undefined || at(next) - at(tick) > TICK_ROOM)))
      shown.unshift(tick)
  }
  return { ticks: shown, show, at }
}

/** Each step to the right is another nine: 0%, 90%, 99%, 99.9%. */
export function nines(most: number): Axis {
  const at = (share: number) => Math.min(1, -Math.log10(Math.max(1 - share, 10 ** -most)) / most)
  const ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999].filter(tick => 1 - tick > 10 ** -most * 1.01)
  return { ticks: [...ticks, 1], at, show: share => (share === 1 ? 'max' : `${round(share * 100)}%`) }
}

export function draw(plot: Plot): string {
  const { width, height, x, y } = plot
  const [right, bottom] = [width - RIGHT, height - BOTTOM]
  const scale: Scale = {
    x: value => round(LEFT + x.at(value) * (right - LEFT)),
    y: value => round(bottom - y.at(value) * (bottom - TOP)),
    bottom,
    right,
  }
  const rows = y.ticks.map(tick => {
    const at = scale.y(tick)
    return `<path class="grid" d="M${LEFT} ${at}H${right}"/>${label(LEFT - 8, at + 4, 'end', y.show(tick))}`
  })
  const columns = x.ticks.map(tick => {
    const at = scale.x(tick)
    const anchor = at > width - LABEL_ROOM ? 'end' : 'middle'
    return `<path class="tick" d="M${at} ${bottom}v5"/>${label(at, bottom + 19, anchor, x.show(tick))}`
  })
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${quote(plot.title)}"><title>${quote(plot.title)}</title>
${rows.join('')}${columns.join('')}
<text class="axis" x="${LEFT - 48}" y="12">${quote(plot.yName)}</text><text class="axis" x="${right}" y="${height - 4}" text-anchor="end">${quote(plot.xName)}</text>
${plot.layers(scale).join('')}
<path class="base" d="M${LEFT} ${bottom}H${right}"/></svg>`
}

export function line(scale: Scale, kind: string, points: Points): string {
  return points.length === 0 ? '' : `<path class="line ${kind}" d="M${outline(scale, points)}"/>`
}

/** Between these points and zero, or a lower row of points. */
export function area(scale: Scale, kind: string, upper: Points, lower?: Points): string {
  if (upper.length === 0) return ''
  const under = lower ?? [upper[0]!, upper.at(-1)!].map(([x]) => [x, 0] as const)
  return `<path class="area ${kind}" d="M${outline(scale, [...upper, ...under.toReversed()])}Z"/>`
}

/** A moment with its name: the opening's to the left, any other's to the right where there is room. */
export function mark(scale: Scale, kind: 'opening' | 'fault', value: number, name: string): string {
  const x = scale.x(value)
  const left = kind === 'opening' || scale.right - x < MARK_ROOM
  const text = label(round(left ? x - 6 : x + 6), kind === 'opening' ? 30 : 46, left ? 'end' : 'start', name)
  return `<g class="${kind}"><path d="M${x} 18V${scale.bottom}"/>${text}</g>`
}

/** A value holds until the next one. */
export function steps(points: Points): Points {
  return points.flatMap((point, i) => (i === 0 ? [point] : [[point[0], points[i - 1]![1]] as const, point]))
}

export function quote(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function outline(scale: Scale, points: Points): string {
  return points.map(([x, y]) => `${scale.x(x)} ${scale.y(y)}`).join('L')
}

function label(x: number, y: number, anchor: 'start' | 'middle' | 'end', text: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${quote(text)}</text>`
}

function niceStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast))
  return power * ([1, 2, 5].find(step => step * power >= atLeast) ?? 10)
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6 === Math.round(value) ? Math.round(value) : Number(value.toFixed(4))
}
