/** A sale's waiting line as typed on the form: without an order there is none. What is left empty, the server decides. */

import { DRAND_SOURCE, roundAfterSeal } from '../../../../src/domain/draw/drand-rounds.ts'
import { sealsAtMs } from '../../../../src/domain/line.ts'
import { fromLocalInput, toLocalInput } from '../../format.ts'
import type { Sale } from '../../shapes.ts'

type Line = NonNullable<Sale['line']>

/** In the order of the form, behind the order of the line itself. */
export const LINE_FIELDS = ['opensAt', 'rate', 'claimWithinSeconds', 'claim'] as const
export const DRAW_FIELDS = ['sealsAt', 'beacon.source', 'beacon.round'] as const
type FieldName = (typeof LINE_FIELDS)[number] | (typeof DRAW_FIELDS)[number]

export type TypedLine = Readonly<Record<FieldName, string>> & { readonly order: '' | Line['order'] }

export const NO_LINE: TypedLine = {
  order: '',
  opensAt: '',
  rate: 'auto',
  claimWithinSeconds: '120',
  claim: '',
  sealsAt: '',
  'beacon.source': DRAND_SOURCE,
  'beacon.round': '',
}

/** What follows from other fields is left empty: it moves with them. */
export function typedLineOf({ opensAt, line }: Pick<Sale, 'opensAt' | 'line'>): TypedLine {
  if (line === undefined) return NO_LINE
  const terms = { opensAtMs: Date.parse(line.opensAt), order: line.order, rate: line.rate, claimWithinMs: 0 }
  const usualSealMs = sealsAtMs({ opensAtMs: Date.parse(opensAt) }, terms)
  const sealMs = line.sealsAt === undefined ? usualSealMs : Date.parse(line.sealsAt)
  const { source = '', round } = line.beacon ?? {}
  return {
    order: line.order,
    opensAt: toLocalInput(terms.opensAtMs),
    rate: `${line.rate}`,
    claimWithinSeconds: `${line.claimWithinSeconds}`,
    claim: line.claim ?? '',
    sealsAt: sealMs === usualSealMs ? '' : toLocalInput(sealMs),
    'beacon.source': source,
    'beacon.round': round === undefined || round === roundAfterSeal(sealMs) ? '' : `${round}`,
  }
}

interface Checks {
  readonly whole: (path: string, value: string) => number
  readonly moment: (path: string, value: string) => string
  readonly refuse: (path: string) => void
}

/** Undefined: the sale has no line. */
export function toLine(typed: TypedLine, saleOpensAt: string, { whole, moment, refuse }: Checks): unknown {
  if (typed.order === '') return undefined
  const text = (name: FieldName) => typed[name].trim()
  const source = text('beacon.source')
  const isDraw = typed.order === 'draw'
  const rate = text('rate')
  if (rate !== 'auto' && !/^\d{1,9}(\.\d+)?$/.test(rate)) refuse('line.rate')
  return {
    opensAt: text('opensAt') === '' ? (fromLocalInput(saleOpensAt) ?? '') : moment('line.opensAt', typed.opensAt),
    order: typed.order,
    rate: rate === 'auto' ? rate : Number(rate),
    claimWithinSeconds: whole('line.claimWithinSeconds', typed.claimWithinSeconds),
    ...(text('claim') !== '' && { claim: text('claim') }),
    ...(isDraw && text('sealsAt') !== '' && { sealsAt: moment('line.sealsAt', typed.sealsAt) }),
    ...(isDraw &&
      source !== '' && {
        beacon: {
          source,
          ...(text('beacon.round') !== '' && { round: whole('line.beacon.round', typed['beacon.round']) }),
        },
      }),
  }
}
