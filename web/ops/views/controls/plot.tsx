/** Figures over time as curves, drawn by uPlot in the page's colours. */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatFigure } from '../../format.ts'
import { words } from '../../words.ts'

const HEIGHT_PX = 150
/** Low values are not stretched to the full height. */
const LEAST = 10

interface Curve<Point> {
  readonly label: string
  /** A colour of the page, by the name of its variable. */
  readonly color: '--blue' | '--good' | '--accent'
  readonly of: (point: Point) => number | null
  readonly unit: string
}

interface PlotProps<Point> {
  readonly title: string
  /** Oldest first. */
  readonly points: readonly Point[]
  readonly curves: readonly Curve<Point>[]
  /** How much of the time up to the last point is shown; undefined: all of it. */
  readonly windowS?: number
}

export function Plot<Point extends { readonly at: string }>({ title, points, curves, windowS }: PlotProps<Point>) {
  const text = words()
  const container = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot>(undefined)
  const data = useRef<uPlot.AlignedData>([[]])
  data.current = [
    points.map(point => Date.parse(point.at) / 1000),
    ...curves.map(curve => points.map(curve.of)),
  ] as uPlot.AlignedData

  useEffect(() => {
    const parent = container.current!
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const draw = () => {
      drawn.current?.destroy()
      drawn.current = new uPlot(optionsFor(parent, curves, windowS), data.current, parent)
    }
    const resized = new ResizeObserver(() =>
      drawn.current?.setSize({ width: Math.max(1, parent.clientWidth), height: HEIGHT_PX }),
    )
    draw()
    resized.observe(parent)
    dark.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      dark.removeEventListener('change', draw)
      drawn.current?.destroy()
    }
  }, [text.locale])
  useEffect(() => drawn.current?.setData(data.current), [points])

  // The newest second may have had no request: the last value is shown.
  const latest = (curve: Curve<Point>) => points.findLast(point => curve.of(point) !== null)
  const figures = curves.map(curve => {
    const value = latest(curve)
    return { ...curve, shown: value === undefined ? '–' : `${formatFigure(curve.of(value) ?? 0)}${curve.unit}` }
  })
  const spoken = figures.map(({ label, shown }) => `${label} ${shown}`).join(', ')
  return (
    <figure>
      <figcaption>
        <span>{title}</span>
        {figures.map(({ label, color, shown }) => (
          <span key={label} class={`curve curve${color}`}>
            {curves.length > 1 && `${label} `}
            <strong>{shown}</strong>
          </span>
        ))}
      </figcaption>
      <div ref={container} class="plot" role="img" aria-label={points.length === 0 ? text.waitingForFigures : spoken} />
    </figure>
  )
}

function optionsFor<Point>(
  parent: HTMLElement,
  curves: readonly Curve<Point>[],
  windowS: number | undefined,
): uPlot.Options {
  const style = getComputedStyle(parent)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  }
  return {
    width: Math.max(1, parent.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 18, 0, 0],
    scales: {
      x: { time: true, range: (_, min, max) => rangeOf(min, max, windowS) },
      y: { range: (_, __, max) => [0, Math.max(LEAST, (max ?? 0) * 1.1)] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 26,
        gap: 6,
        values: (_, seconds) =>
          seconds.map(second =>
            new Intl.DateTimeFormat(words().locale, {
              hour: '2-digit',
              minute: '2-digit',
              hourCycle: 'h23',
            }).format(second * 1000),
          ),
        incrs: [60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400],
      },
      { ...axis, size: 52, space: 34, values: (_, values) => values.map(value => formatFigure(value)) },
    ],
    series: [
      {},
      ...curves.map(curve => ({
        label: curve.label,
        stroke: color(curve.color),
        width: 2,
        // A second without requests has no latency: the curve has a gap there, and a value between two gaps is a point.
        spanGaps: false,
        points: { show: false, filter: lonePoints, size: 4, width: 0, fill: color(curve.color) },
      })),
    ],
  }
}

/** At least a minute wide. */
function rangeOf(min: number | null, max: number | null, windowS = 60): [number, number] {
  return max === null ? [0, windowS] : [Math.min(min ?? max, max - windowS), max]
}

function lonePoints(plot: uPlot, series: number): number[] | null {
  const values = plot.data[series] ?? []
  const has = (i: number) => values[i] !== null && values[i] !== undefined
  const lone = Array.from(values.keys()).filter(i => has(i) && !has(i - 1) && !has(i + 1))
  return lone.length === 0 ? null : lone
}
