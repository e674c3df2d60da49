/** The growth of a request's cost as one self-contained page: a plot per survey, a line per kind of request. */

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
  const cards = surveys.filter(one => one.name.startsWith('growth')).map(card)
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
