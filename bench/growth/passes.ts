/**
 * Figures of several sizes, measured in turn, pass after pass, so that other load on the machine affects all sizes alike. A ratio is taken
 * within a pass, to the first size or the one that the figure names; value and ratio are medians over the passes. Pure.
 */

import type { SurveyFigure } from '../bench-case.ts'

/** One figure of one size in one pass. `aim`: what its ratio should be; `beside`: to which size, counted from 0 (the first). */
export interface Measured {
  readonly group: string
  readonly value: number
  readonly unit: string
  readonly aim?: SurveyFigure['aim']
  readonly beside?: number
}

/** Pass → size → figures. A figure that a size does not have in any pass is left out there. */
export function figuresOf(
  sizes: readonly string[],
  passes: readonly (readonly (readonly Measured[])[])[],
): SurveyFigure[] {
  const groups = new Map(passes.flat(2).map(one => [one.group, one]))
  return [...groups.values()].flatMap(({ group, unit, aim, beside = 0 }) =>
    sizes.flatMap((at, size): SurveyFigure[] => {
      const [values, ratios]: [number[], number[]] = [[], []]
      for (const pass of passes) {
        const [first, own] = [pass[beside], pass[size]].map(list => list?.find(one => one.group === group)?.value)
        if (own === undefined) continue
        values.push(own)
        if (first !== undefined && first !== 0) ratios.push(own / first)
      }
      if (values.length === 0) return []
      const figure = { group, at, value: median(values), unit }
      if (ratios.length === 0 || size < beside) return [figure]
      return [{ ...figure, ratio: median(ratios), ...(aim !== undefined && size > beside && { aim }) }]
    }),
  )
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

/** The same sizes with another largest one; those that would be larger than it are left out. */
export function upTo(sizes: readonly number[], most: number | undefined): readonly number[] {
  if (most === undefined) return sizes
  return [...sizes.slice(0, -1).filter(size => size < most), most]
}
