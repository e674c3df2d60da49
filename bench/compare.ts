/**
 * `bench compare A B`: the ratio B / A of every figure that both reports have, as a table or as JSON. Above 1, B is higher. The files are
 * checked before anything is compared: a file that is not a report is refused with one line.
 */

import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { columns } from './report.ts'

/** A figure that could not be measured (a round too short for the kernel's ticks) is null or missing. */
const figure = z.number().nullish()
const spread = z.object({ median: figure }).nullish()
const standing = z.object({
  name: z.string(),
  perSecond: spread,
  p50Ms: figure,
  p99Ms: figure,
  serverCpu: spread,
  postgresCpu: spread,
  ratio: spread,
  p99Ratio: spread,
  cpuRatio: spread,
})
const surveyed = z.object({ group: z.string(), at: z.string(), unit: z.string(), value: figure })
/** Only what is compared: reports of other versions have more or fewer fields. */
const report = z.object({
  commit: z.string(),
  cases: z.array(z.object({ name: z.string(), standings: z.array(standing) })),
  surveys: z.array(z.object({ name: z.string(), figures: z.array(surveyed) })).default([]),
})
type Report = z.infer<typeof report>

interface Row {
  readonly case: string
  readonly who: string
  readonly figure: string
  readonly a: number
  readonly b: number
  readonly ratio: number
}

export async function compare(pathA: string, pathB: string, json: boolean): Promise<string> {
  const a = await readReport(pathA)
  const b = await readReport(pathB)
  const rows = [...compareCases(a, b), ...compareSurveys(a, b)]
  if (json) return JSON.stringify(rows)
  const head = ['case', 'who', 'figure', `A ${a.commit}`, `B ${b.commit}`, 'B / A']
  const cells = (row: Row) => [row.a.toPrecision(4), row.b.toPrecision(4), row.ratio.toFixed(3)]
  return columns([head, ...rows.map(row => [row.case, row.who, row.figure, ...cells(row)])])
}

function* compareCases(a: Report, b: Report): Generator<Row> {
  for (const one of a.cases) {
    const other = b.cases.find(({ name }) => name === one.name)
    for (const before of one.standings) {
      const after = other?.standings.find(({ name }) => name === before.name)
      if (after === undefined) continue
      const now = figures(after)
      for (const [name, value] of Object.entries(figures(before)))
        yield* row(one.name, before.name, name, value, now[name])
    }
  }
}

function* compareSurveys(a: Report, b: Report): Generator<Row> {
  for (const one of a.surveys) {
    const other = b.surveys.find(({ name }) => name === one.name)
    for (const { group, at, unit, value } of one.figures) {
      const twin = other?.figures.find(figure => figure.group === group && figure.at === at)
      yield* row(`${one.name}: ${group}`, at, unit, value, twin?.value)
    }
  }
}

type Figure = z.infer<typeof figure>

function row(name: string, who: string, figure: string, a: Figure, b: Figure): Row[] {
  return typeof a === 'number' && typeof b === 'number' ? [{ case: name, who, figure, a, b, ratio: b / a }] : []
}

function figures(one: z.infer<typeof standing>): Record<string, Figure> {
  return {
    'per second': one.perSecond?.median,
    'p50 ms': one.p50Ms,
    'p99 ms': one.p99Ms,
    'CPU µs': one.serverCpu?.median,
    'PostgreSQL CPU µs': one.postgresCpu?.median,
    ratio: one.ratio?.median,
    'p99 ratio': one.p99Ratio?.median,
    'CPU ratio': one.cpuRatio?.median,
  }
}

async function readReport(path: string): Promise<Report> {
  const refuse = (why: string) => new Error(`${path} is not a report of bench: ${why}`)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw refuse(`it can not be read (${error.code ?? error.message})`)
  })
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    throw refuse('it is not JSON')
  }
  const read = report.safeParse(found)
  if (!read.success) throw refuse('commit, cases or figures are missing')
  return read.data
}
