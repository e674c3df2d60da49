/** Small plots as SVG text: axes, areas, lines and steps. No script, no style of their own: classes are coloured by the page. */

interface Axis {
  readonly ticks: readonly number[]
  /** Where a value lies, from 0 to 1. */
  at(value: number): number
  show(value: number): string
}

interface Plot {
  /** For those who can't see it. */
  readonly title: string
  readonly width: number
  readonly height: number
  readonly x: Axis
  readonly y: Axis
  readonly xName: string
  readonly yName: string
  readonly layers: (place: Place) => string
}

/** From values to points of the picture. */
interface Place {
  x(value: number): number
  y(value: number): number
  readonly bottom: number
  readonly right: number
}

const LEFT = 58
const RIGHT = 14
const TOP = 22
const BOTTOM = 40
/** As a share of the width. */
const TICK_ROOM = 0.14
/** A label nearer to the right edge than this would be cut off. */
const LABEL_ROOM = 24
/** The name of a marked moment needs so much. */
const MARK_ROOM = 120

export function linear(min: number, max: number, ticksMax: number, show: (value: number) => string): Axis {
  const span = max - min || 1
  const step = niceStep(span / ticksMax)
  const ticks: number[] = []
  for (let tick = Math.ceil(min / step) * step; tick <= max + step / 1e6; tick += step) ticks.push(round(tick))
  return { ticks, show, at: value => (value - min) / span }
}

/** Room above the highest value, up to the next tick. */
export function linearFromZero(max: number, ticksMax: number, show: (value: number) => string): Axis {
  const step = niceStep((max || 1) / ticksMax)
  return linear(0, Math.ceil((max || 1) / step) * step, ticksMax, show)
}

/** Stretched at the beginning, where everything happens: a quarter of the time takes half the width. */
export function rooted(max: number, show: (value: number) => string): Axis {
  const ticks = [0, ...[1, 10, 100, 1_000, 10_000, 100_000].flatMap(ten => [ten, ten * 2.5, ten * 5])]
  const at = (value: number) => Math.sqrt(value / max)
  // From the right, as long as there is room between them; zero has its place in any case.
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
  const place: Place = {
    x: value => round(LEFT + x.at(value) * (width - LEFT - RIGHT)),
    y: value => round(height - BOTTOM - y.at(value) * (height - TOP - BOTTOM)),
    bottom: height - BOTTOM,
    right: width - RIGHT,
  }
  const rows = y.ticks.map(tick => {
    const at = place.y(tick)
    return `<path class="grid" d="M${LEFT} ${at}H${width - RIGHT}"/><text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${quote(y.show(tick))}</text>`
  })
  const columns = x.ticks.map(tick => {
    const at = place.x(tick)
    return `<path class="tick" d="M${at} ${place.bottom}v5"/><text x="${at}" y="${place.bottom + 19}" text-anchor="${at > width - LABEL_ROOM ? 'end' : 'middle'}">${quote(x.show(tick))}</text>`
  })
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${quote(plot.title)}"><title>${quote(plot.title)}</title>
${rows.join('')}${columns.join('')}
<text class="axis" x="${LEFT - 48}" y="12">${quote(plot.yName)}</text><text class="axis" x="${width - RIGHT}" y="${height - 4}" text-anchor="end">${quote(plot.xName)}</text>
${plot.layers(place)}
<path class="base" d="M${LEFT} ${place.bottom}H${width - RIGHT}"/></svg>`
}

export function line(kind: string, points: readonly (readonly [number, number])[]): string {
  return points.length === 0 ? '' : `<path class="line ${kind}" d="M${points.map(([x, y]) => `${x} ${y}`).join('L')}"/>`
}

/** A moment, with its name beside it: the opening's to its left, any other's to its right for as long as there is room. */
export function mark(kind: string, place: Place, value: number, name: string): string {
  const x = place.x(value)
  const left = kind === 'opening' || place.right - x < MARK_ROOM
  const [at, anchor] = left ? [x - 6, 'end'] : [x + 6, 'start']
  const y = kind === 'opening' ? 30 : 46
  return `<g class="${kind}"><path d="M${x} 18V${place.bottom}"/><text x="${round(at)}" y="${y}" text-anchor="${anchor}">${quote(name)}</text></g>`
}

/** Between the points and the lower edge, or another row of points. */
export function area(
  kind: string,
  upper: readonly (readonly [number, number])[],
  lower: readonly (readonly [number, number])[],
): string {
  if (upper.length === 0) return ''
  const outline = [...upper, ...lower.toReversed()].map(([x, y]) => `${x} ${y}`)
  return `<path class="area ${kind}" d="M${outline.join('L')}Z"/>`
}

/** A value holds until the next one. */
export function steps(points: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  return points.flatMap(([x, y], i) => {
    const before = points[i - 1]
    return before === undefined ? [[x, y] as const] : [[x, before[1]] as const, [x, y] as const]
  })
}

export function quote(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

export function whole(value: number): string {
  return value.toLocaleString('en-GB')
}

function niceStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast))
  return power * ([1, 2, 5].find(step => step * power >= atLeast) ?? 10)
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6 === Math.round(value) ? Math.round(value) : Number(value.toFixed(4))
}
