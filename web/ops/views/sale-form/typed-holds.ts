/** A sale's limits of units that are held unpaid, as typed on the form: empty fields limit nothing. */

import type { Sale } from '../../shapes.ts'
import { holdWords } from '../../words/holds.ts'

type Holds = NonNullable<Sale['holds']>

const NUMBERS = ['perBuyer', 'perPrefix', 'unpaidCountsSeconds', 'attemptsUnpaid', 'payAgainSeconds'] as const

/** In the order of the form. */
export const HOLD_FIELDS = ['perBuyer', 'perPrefix', 'perClaim', ...NUMBERS.slice(2)] as const

/** `perClaim` is `phone_hash 4, account 10`. */
export type TypedHolds = Readonly<Record<(typeof HOLD_FIELDS)[number], string>>

export const NO_HOLDS: TypedHolds = Object.fromEntries(HOLD_FIELDS.map(name => [name, ''])) as TypedHolds

export function typedHoldsOf(holds: Holds | undefined): TypedHolds {
  const numbers = NUMBERS.map(name => [name, `${holds?.[name] ?? ''}`])
  const claims = Object.entries(holds?.perClaim ?? {}).map(([name, max]) => `${name} ${max}`)
  return { ...NO_HOLDS, ...Object.fromEntries(numbers), perClaim: claims.join(', ') }
}

/** Undefined: nothing is typed. */
export function toHolds(
  typed: TypedHolds,
  whole: (path: string, value: string) => number,
  refuse: (path: string, why: string) => void,
): Holds | undefined {
  const numbers = NUMBERS.filter(name => typed[name].trim() !== '').map(name => [
    name,
    whole(`holds.${name}`, typed[name]),
  ])
  const claims = typed.perClaim
    .split(/[,，]/)
    .map(claim => claim.trim())
    .filter(claim => claim !== '')
    .flatMap(claim => {
      const [, name, max] = /^(\w+)[\s:=]+(\d{1,15})$/.exec(claim) ?? []
      if (name === undefined) refuse('holds.perClaim', holdWords().badClaim)
      return name === undefined ? [] : [[name, Number(max)]]
    })
  if (numbers.length === 0 && typed.perClaim.trim() === '') return undefined
  return { ...Object.fromEntries(numbers), ...(claims.length > 0 && { perClaim: Object.fromEntries(claims) }) }
}
