/**
 * Growth as one self-contained page: for surveys of a request's cost a plot each, with a line per kind of request; for the others a plot
 * per figure.
 */

import { writeFile } from 'node:fs/promises'
import { draw, line, linearFromZero, quote } from '../../src/rehearsal/report/plot.ts'
import { STYLE } from '../../src/rehearsal/report/style.ts'
import type { SurveyResult } from '../bench-case.ts'

const WIDTH = 520
const HEIGHT = 300
/** Kind of request → its colour in the report's style. */
const KINDS = { placed: 'orders', refused: 'refusals', constant: 'clicks' } as const
const TICKS_MAX = 5

/** Writes the page and returns its path. */
export async function drawGrowth(surveys: readonly SurveyResult[], path: string): Promise<string> {
  const cards = surveys
    .filter(one => one.name.startsWith('growth'))
    .flatMap(one => (hasKinds(one) ? card(one) : groupCards(one)))
  const legend = Object.entries(KINDS).map(([kind, colour]) => `<li class="${colour}">${kind}</li>`)
  await writeFile(
    path,
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>What a request costs as it grows</title><style>${STYLE}</style>
<main><header><h1>What a request costs as it grows</h1><p class="sentence">CPU time of the server and PostgreSQL per request, in µs.</p></header>
<ul class="legend">${legend.join('')}</ul><div class="pair">${cards.join('')}</div></main></html>
`,
  )
  return path
}

function hasKinds({ figures }: SurveyResult): boolean {
  return figures.some(({ group }) => group === 'placed, CPU')
}

/** A plot for each figure of a survey of other kinds, over the names of its sizes. */
function groupCards({ name, figures }: SurveyResult): string[] {
  return [...Map.groupBy(figures, ({ group }) => group)].map(([group, list]) => {
    const last = Math.max(1, list.length - 1)
    const unit = list[0]?.unit ?? ''
    const picture = draw({
      title: group,
      width: WIDTH,
      height: HEIGHT,
      x: { ticks: [...list.keys()], at: no => no / last, show: no => list[no]?.at ?? '' },
      y: linearFromZero(Math.max(...list.map(({ value }) => value)), TICKS_MAX, String),
      xName: '',
      yName: unit,
      layers: scale => [
        line(
          scale,
          'orders',
          [...list.entries()].map(([no, { value }]) => [no, value] as const),
        ),
      ],
    })
    return `<section class="card"><h2>${quote(group)}</h2><p class="hint">${quote(name)}</p>${picture}</section>`
  })
}

function card(survey: SurveyResult): string {
  const series = Object.entries(KINDS).map(([kind, colour]) => ({
    kind,
    colour,
    points: survey.figures
      .filter(figure => figure.group === `${kind}, CPU`)
      .map(figure => [Number(figure.at.replace(/[^0-9]/g, '')), figure.value] as const),
  }))
  const sizes = series[0]?.points.map(([n]) => n) ?? []
  const most = Math.max(1, ...series.flatMap(({ points }) => points.map(([, value]) => value)))
  const [first = 1, last = 1] = [sizes[0], sizes.at(-1)]
  const picture = draw({
    title: survey.what,
    width: WIDTH,
    height: HEIGHT,
    // Logarithmic, because the sizes are powers of ten.
    x: {
      ticks: sizes,
      at: value => (last === first ? 0.5 : Math.log(value / first) / Math.log(last / first)),
      show: value => value.toLocaleString('en-GB'),
    },
    y: linearFromZero(most, TICKS_MAX, String),
    xName: survey.name.replace('growth over ', ''),
    yName: 'µs of CPU time',
    layers: scale => series.map(({ colour, points }) => line(scale, colour, points)),
  })
  return `<section class="card"><h2>${quote(survey.name)}</h2><p class="hint">${quote(survey.what)}</p>${picture}</section>`
}
