/**
 * When buyers click, counted from the opening. The schedule is made beforehand and never waits for answers: a server that falls behind
 * finds the crowd where it would have been.
 */

import type { Random } from '../../base/random.ts'

export type Shape =
  /** Everyone within this time, most of them at its beginning: half in the first quarter. */
  | { readonly kind: 'spike'; readonly withinMs: number }
  /** Everyone within this time, more and more of them. */
  | { readonly kind: 'ramp'; readonly withinMs: number }
  /** Independent of each other, so many a second on average. */
  | { readonly kind: 'poisson'; readonly perSecond: number }
  /** As it was once recorded. */
  | { readonly kind: 'replay'; readonly offsetsMs: readonly number[] }

/** One moment per buyer, in no particular order. */
export function arrivals(shape: Shape, buyers: number, random: Random): Float64Array {
  const at = new Float64Array(buyers)
  let lastMs = 0
  for (let i = 0; i < buyers; i++) {
    switch (shape.kind) {
      case 'spike':
        at[i] = shape.withinMs * random.next() ** 2
        break
      case 'ramp':
        at[i] = shape.withinMs * Math.sqrt(random.next())
        break
      case 'poisson':
        lastMs += (-Math.log(1 - random.next()) * 1000) / shape.perSecond
        at[i] = lastMs
        break
      case 'replay':
        at[i] = shape.offsetsMs[i % shape.offsetsMs.length]!
        break
    }
  }
  return at
}

/** For people. */
export function describeShape(shape: Shape): string {
  switch (shape.kind) {
    case 'spike':
      return `a spike at the opening, all within ${seconds(shape.withinMs)}`
    case 'ramp':
      return `a ramp over ${seconds(shape.withinMs)}`
    case 'poisson':
      return `a Poisson stream of ${shape.perSecond} a second`
    case 'replay':
      return `a replay of ${shape.offsetsMs.length} recorded clicks`
  }
}

function seconds(ms: number): string {
  return `${ms / 1000} s`
}
