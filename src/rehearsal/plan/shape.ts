/** When buyers click, counted from the opening. Drawn before the run, so a slow server does not slow the crowd. */

import type { Random } from '../../base/random.ts'

export type Shape =
  /** All within this time, most at its beginning: half in the first quarter. */
  | { readonly kind: 'spike'; readonly withinMs: number }
  /** All within this time, at a growing rate. */
  | { readonly kind: 'ramp'; readonly withinMs: number }
  /** Independent of each other, at this average rate. */
  | { readonly kind: 'poisson'; readonly perSecond: number }
  /** At recorded times. */
  | { readonly kind: 'replay'; readonly offsetsMs: readonly number[] }

/** One moment for each buyer, in no particular order. */
export function arrivals(shape: Shape, buyers: number, random: Random): Float64Array {
  let lastMs = 0
  const next = (i: number) => {
    switch (shape.kind) {
      case 'spike':
        return shape.withinMs * random.next() ** 2
      case 'ramp':
        return shape.withinMs * Math.sqrt(random.next())
      case 'poisson':
        lastMs += (-Math.log(1 - random.next()) * 1000) / shape.perSecond
        return lastMs
      case 'replay':
        return shape.offsetsMs[i % shape.offsetsMs.length]!
    }
  }
  return Float64Array.from({ length: buyers }, (_, i) => next(i))
}

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
