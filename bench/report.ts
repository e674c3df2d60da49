/** The outcome of a run: tables for people, one JSON file for machines, and two such files side by side. */

import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { SurveyResult } from './bench-case.ts'
import type { CaseResult, Spread, Standing } from './rounds.ts'

interface Report {
  readonly at: string
  readonly commit: string
  readonly machine: Readonly<Record<string, unknown>>
  readonly settings: Readonly<Record<string, unknown>>
  readonly cases: readonly CaseResult[]
  readonly surveys: readonly SurveyResult[]
}

export function describeMachine(): Record<string, unknown> {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    bun: process.versions.bun,
  }
}

/** The commit that was measured; a tree with changes is no commit. */
export function commitOf(folder: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return git('status', '--porcelain') === '' ? git('rev-parse', '--short', 'HEAD') : 'working tree'
  } catch {
    return 'working tree'
  }
}

export async function writeReport(report: Report, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `bench-${report.at.replaceAll(':', '-').replace(/\.\d+Z$/, 'Z')}.json`)
  await writeFile(path, `${JSON.stringify(report, undefined, 2)}\n`)
  return path
}

export function table(cases: readonly CaseResult[]): string {
  const rows = [
    [
      'case',
      'who',
      'per second',
      'p50 ms',
      'p99 ms',
      'CPU µs',
      '+ PostgreSQL',
      'oversold',
      'ratio (aim)',
      'p99 ratio',
      'CPU ratio',
    ],
  ]
  for (const one of cases) {
    for (const [i, standing] of one.standings.entries()) {
      rows.push([
        i === 0 ? one.name : '',
        standing.name,
        show(standing.perSecond, 0),
        standing.p50Ms.toFixed(2),
        standing.p99Ms.toFixed(2),
        show(standing.serverCpu, 1),
        show(standing.postgresCpu, 1),
        standing.oversold === undefined ? '' : String(standing.oversold),
        `${show(standing.ratio, 2)}${aimed(standing.aim?.rate)}`,
        `${show(standing.p99Ratio, 2)}${aimed(standing.aim?.p99)}`,
        show(standing.cpuRatio, 2),
      ])
    }
  }
  return columns(rows)
}

export function surveyTable(surveys: readonly SurveyResult[]): string {
  const rows = [['survey', 'what', 'at', 'figure', 'to the first']]
  for (const one of surveys) {
    for (const [i, { group, at, value, unit, ratio }] of one.figures.entries()) {
      const before = one.figures[i - 1]
      rows.push([
        i === 0 ? one.name : '',
        before?.group === group ? '' : group,
        at,
        `${shorten(value)} ${unit}`,
        ratio === undefined ? '' : ratio.toFixed(2),
      ])
    }
  }
  return columns(rows)
}

function shorten(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(1)
}

/** `bench compare A B`: what B makes of A, figure by figure. Above 1, B is higher. */
export async function compare(pathA: string, pathB: string): Promise<string> {
  const [a, b] = (await Promise.all([pathA, pathB].map(async path => JSON.parse(await readFile(path, 'utf8'))))) as [
    Report,
    Report,
  ]
  const rows = [['case', 'who', 'figure', `A ${a.commit}`, `B ${b.commit}`, 'B / A']]
  for (const one of a.cases) {
    const other = b.cases.find(({ name }) => name === one.name)
    for (const standing of one.standings) {
      const twin = other?.standings.find(({ name }) => name === standing.name)
      if (twin === undefined) continue
      const before = figures(standing)
      const after = figures(twin)
      for (const [figure, value] of Object.entries(before)) {
        const now = after[figure]
        if (!isFigure(value) || !isFigure(now)) continue
        rows.push([one.name, standing.name, figure, value.toPrecision(4), now.toPrecision(4), (now / value).toFixed(3)])
      }
    }
  }
  for (const one of a.surveys ?? []) {
    const other = b.surveys?.find(({ name }) => name === one.name)
    for (const { group, at, unit, value } of one.figures) {
      const twin = other?.figures.find(figure => figure.group === group && figure.at === at)
      if (!isFigure(value) || !isFigure(twin?.value)) continue
      const ratio = (twin.value / value).toFixed(3)
      rows.push([`${one.name}: ${group}`, at, unit, value.toPrecision(4), twin.value.toPrecision(4), ratio])
    }
  }
  return columns(rows)
}

/** What could not be measured (a round too short for the kernel's ticks) is nothing in the file. */
function isFigure(value: number | null | undefined): value is number {
  return typeof value === 'number'
}

function figures(standing: Standing): Record<string, number | undefined> {
  return {
    'per second': standing.perSecond.median,
    'p50 ms': standing.p50Ms,
    'p99 ms': standing.p99Ms,
    'CPU µs': standing.serverCpu?.median,
    'PostgreSQL CPU µs': standing.postgresCpu?.median,
    ratio: standing.ratio?.median,
    'p99 ratio': standing.p99Ratio?.median,
    'CPU ratio': standing.cpuRatio?.median,
  }
}

function aimed(aim: number | undefined): string {
  return aim === undefined ? '' : ` (${aim})`
}

function show(spread: Spread | undefined, digits: number): string {
  if (spread === undefined) return ''
  return `${spread.median.toFixed(digits)} [${spread.low.toFixed(digits)}–${spread.high.toFixed(digits)}]`
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows
    .map(row =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
