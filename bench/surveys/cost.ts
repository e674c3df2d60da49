/** The CPU time of requests, with alternating contestants; and the memory of a process. */

import { readFileSync } from 'node:fs'
import type { Contestant, Stage, SurveyFigure } from '../bench-case.ts'
import { measure, type Sample } from '../rounds.ts'

const ROUNDS = 3

/**
 * Server and PostgreSQL together, in µs per request, as the median of a few rounds, by contestant; and its ratio to the constant's in the
 * same round, which removes the effect of other load on the machine. One contestant is called `constant`.
 */
export async function costs(
  stage: Stage,
  contestants: Readonly<Record<string, Contestant>>,
  at: string,
): Promise<SurveyFigure[]> {
  const samples = new Map<string, Sample[]>(Object.keys(contestants).map(name => [name, []]))
  for (let round = 0; round < (stage.blink ? 1 : ROUNDS); round++) {
    for (const [name, contestant] of Object.entries(contestants))
      samples.get(name)!.push(await measure(contestant, stage.roundMs))
  }
  const constant = samples.get('constant')!
  return [...samples].flatMap(([name, list]) => [
    { group: `${name}, CPU`, at, value: median(list.map(costOf)), unit: 'µs' },
    ...(name === 'constant'
      ? []
      : [
          {
            group: `${name}, over the constant`,
            at,
            value: median(list.map((sample, i) => costOf(sample) / costOf(constant[i]!))),
            unit: '×',
          },
        ]),
  ])
}

function costOf(sample: Sample): number {
  return (sample.serverCpu ?? Number.NaN) + (sample.postgresCpu ?? 0)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

/** The resident memory of the process, in bytes. */
export function residentBytes(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) * 1024
}
