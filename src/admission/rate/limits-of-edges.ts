/**
 * The limits of an edge as one line of text, and what the lines of all edges say together: how many edges do not have a limit, and where
 * edges have different ones. Edges are configured one by one, so a limit may be on at some of them only. Pure.
 */

import { type Rate, showRate } from '../rate-limit-policy.ts'
import type { LimitDifference, LimitsOfEdges } from '../shared-counts.ts'

const LIMIT = /^([a-z-]{1,40})=([^=,]{1,60})$/

/** `name=rate,name=rate`, sorted: the same limits are the same text. */
export function writeLimits(limits: ReadonlyMap<string, Rate>): string {
  return [...limits]
    .map(([name, rate]) => `${name}=${showRate(rate)}`)
    .toSorted()
    .join()
}

/** Undefined: written by another version. */
function readLimits(text: string): ReadonlyMap<string, string> | undefined {
  const parts = text === '' ? [] : text.split(',').map(part => LIMIT.exec(part))
  if (parts.includes(null)) return undefined
  return new Map(parts.map(part => [part![1]!, part![2]!]))
}

/** Edges whose line can't be read count as having every limit, and agree with all. */
export function compareLimits(lines: readonly LimitsOfEdges[]) {
  const known = lines.flatMap(({ limits, edges }) => {
    const read = readLimits(limits)
    return read === undefined ? [] : [{ read, edges }]
  })
  const without = new Map<string, number>()
  const differences: LimitDifference[] = []
  for (const limit of new Set(known.flatMap(({ read }) => [...read.keys()]))) {
    const rates = new Map<string, number>()
    for (const { read, edges } of known) {
      const rate = read.get(limit) ?? 'off'
      rates.set(rate, (rates.get(rate) ?? 0) + edges)
    }
    without.set(limit, rates.get('off') ?? 0)
    if (rates.size > 1) differences.push({ limit, words: wordsOf(rates) })
  }
  return { without, differences }
}

function wordsOf(rates: ReadonlyMap<string, number>): string {
  const sorted = [...rates].toSorted(([a, n], [b, m]) => Number(a === 'off') - Number(b === 'off') || m - n)
  return sorted
    .map(([rate, edges], i) => `${rate} at ${edges}${i > 0 ? '' : edges === 1 ? ' edge' : ' edges'}`)
    .join(', ')
}
