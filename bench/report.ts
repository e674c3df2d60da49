/** The result of a run: tables on the terminal, and one JSON file. */

import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import type { SurveyResult } from './bench-case.ts'
import type { CaseResult, Spread } from './rounds.ts'

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

/** The measured commit; `working tree` when there are uncommitted changes. */
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
  const rows = [['survey', 'what', 'at', 'figure', 'to the first (aim)']]
  for (const one of surveys) {
    for (const [i, { group, at, value, unit, ratio, aim }] of one.figures.entries()) {
      const before = one.figures[i - 1]
      rows.push([
        i === 0 ? one.name : '',
        before?.group === group ? '' : group,
        at,
        `${shorten(value)} ${unit}`,
        ratio === undefined ? '' : `${ratio.toFixed(2)}${limits(aim)}`,
      ])
    }
  }
  return columns(rows)
}

function limits({ most, least }: SurveyResult['figures'][number]['aim'] = {}): string {
  return [most !== undefined && ` (≤ ${most})`, least !== undefined && ` (≥ ${least})`].filter(Boolean).join('')
}

function shorten(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toFixed(1)
}

function aimed(aim: number | undefined): string {
  return aim === undefined ? '' : ` (${aim})`
}

function show(spread: Spread | undefined, digits: number): string {
  if (spread === undefined) return ''
  return `${spread.median.toFixed(digits)} [${spread.low.toFixed(digits)}–${spread.high.toFixed(digits)}]`
}

export function columns(rows: readonly (readonly string[])[]): string {
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
