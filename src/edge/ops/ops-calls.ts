/** What the operations page asks for beyond what any operator's tool does: one look at everything, and what is wrong. */

import { z } from 'zod'
import { auditAnswer, operatorSaleAnswer } from '../answers.ts'
import type { Call } from '../call.ts'
import { AUDIT, OPERATOR_SALE } from '../calls/examples.ts'

const operators = { group: 'Operators', who: 'operator', method: 'GET' } as const
const id = z.string().regex(/^[1-9][0-9]{0,18}$/)
const time = z.iso.datetime({ precision: 3 })
const count = z.int().min(0)

export const troubleAnswer = z
  .object({
    code: z.enum([
      'unready',
      'ledger_away',
      'promise_broken',
      'inconsistent',
      'unsettled',
      'withdrawn',
      'door_shut',
      'clock_skew',
      'refunds_stuck',
      'alarm',
    ]),
    since: time,
    which: z.string().optional().meta({ description: "A promise's number, an alarm's name." }),
    sale: id.optional(),
    item: id.optional(),
    count: count.optional(),
    words: z.string().optional().meta({ description: "The checker's own words." }),
  })
  .meta({ id: 'Trouble' })

export const watchAnswer = z
  .object({
    at: time,
    sale: operatorSaleAnswer,
    audit: z
      .array(auditAnswer)
      .nullable()
      .meta({ description: 'As GET …/audit gives it; null while the ledger is away.' }),
    items: z.array(
      z.object({
        item: id,
        line: count.meta({ description: 'Asks waiting before the gate.' }),
        unsettled: count.meta({ description: 'Reservations the ledger has not confirmed yet.' }),
        selling: z.enum(['selling', 'withdrawn', 'shut', 'skewed', 'away']),
      }),
    ),
    funnel: z
      .object({
        since: time,
        asked: count,
        limited: count,
        soldOut: count,
        refused: count,
        reserved: count,
        placed: count,
        paid: count,
      })
      .meta({ description: 'Of this process since it started, over all its sales.' }),
    recent: z
      .array(
        z.object({
          at: time,
          requestsPerSecond: z.number().min(0),
          p50Ms: z.number().nullable(),
          p99Ms: z.number().nullable(),
          line: count,
        }),
      )
      .meta({ description: 'One sample a second, at most five minutes back; of this process, operators left out.' }),
    reconciled: z.object({ at: time, differences: count, repairs: count }).nullable(),
    trouble: z.array(troubleAnswer),
  })
  .meta({ id: 'Watch' })

const AT = '2026-11-13T10:05:00.000Z'

export const SALE_WATCHED = {
  ...operators,
  path: '/api/admin/sales/{sale}/watch',
  summary: 'Everything about a running sale in one look',
  more: 'The audit, how each item stands in this process, the funnel, the last minutes in figures, and what is wrong.',
  query: z.object({
    after: z.iso
      .datetime()
      .transform(text => Date.parse(text))
      .optional()
      .meta({ type: 'string', format: 'date-time', description: 'Only samples after this `at`.' }),
  }),
  answers: {
    200: {
      what: 'The look.',
      body: watchAnswer,
      example: {
        at: AT,
        sale: OPERATOR_SALE,
        audit: [AUDIT],
        items: [],
        funnel: { since: AT, asked: 0, limited: 0, soldOut: 0, refused: 0, reserved: 0, placed: 0, paid: 0 },
        recent: [{ at: AT, requestsPerSecond: 4100.5, p50Ms: 0.4, p99Ms: 3.8, line: 12 }],
        reconciled: { at: AT, differences: 0, repairs: 0 },
        trouble: [],
      },
    },
  },
  problems: [],
} satisfies Call

export const TROUBLE_READ = {
  ...operators,
  path: '/api/admin/trouble',
  summary: 'What is wrong, and since when',
  answers: {
    200: {
      what: 'Worst first; empty when all is well.',
      body: z.object({ trouble: z.array(troubleAnswer) }),
      example: { trouble: [{ code: 'refunds_stuck', since: AT, count: 2 }] },
    },
  },
  problems: [],
} satisfies Call

export const OPS_CALLS: readonly Call[] = [SALE_WATCHED, TROUBLE_READ]
