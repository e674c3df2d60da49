/** The end of a run: tables, what failed, the report as a file (and on standard output for machines), and the exit code. */

import { fileURLToPath } from 'node:url'
import { systemClock } from '../src/base/clock.ts'
import type { SurveyResult } from './bench-case.ts'
import { commitOf, describeMachine, surveyTable, table, writeReport } from './report.ts'
import type { CaseResult } from './rounds.ts'
import { drawGrowth } from './surveys/growth-picture.ts'

interface Ran {
  readonly at: string
  readonly beganMs: number
  readonly settings: Readonly<Record<string, unknown>>
  /** Below the table of cases. */
  readonly note: string
  readonly cases: readonly CaseResult[]
  readonly surveys: readonly SurveyResult[]
  readonly out: string
  readonly json: boolean
  readonly print: (line: string) => void
}

/** Speed never affects the exit code: 0, or 1 when a promise was broken under load. */
export async function conclude({
  at,
  beganMs,
  settings,
  note,
  cases,
  surveys,
  out,
  json,
  print,
}: Ran): Promise<number> {
  const commit = commitOf(fileURLToPath(new URL('..', import.meta.url)))
  const report = { at, commit, machine: describeMachine(), settings, cases, surveys }
  if (cases.length > 0) print(`\n${table(cases)}\n\n${note}`)
  if (surveys.length > 0) print(`\n${surveyTable(surveys)}\n`)
  for (const one of cases)
    if (Object.keys(one.settings).length > 0) print(`${one.name}: ${JSON.stringify(one.settings)}`)
  const failed = [...cases, ...surveys].flatMap(({ name, violations }) => violations.map(what => `${name}: ${what}`))
  for (const what of failed) print(`FAILED ${what}`)
  const path = await writeReport(report, out)
  if (surveys.length > 0) print(await drawGrowth(surveys, path.replace(/\.json$/, '.html')))
  print(`${path} (${Math.round((systemClock.elapsed() - beganMs) / 1000)} s)`)
  if (json) console.log(JSON.stringify(report))
  return failed.length > 0 ? 1 : 0
}
