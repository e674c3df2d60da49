/** What the operations page asks for beyond what any operator's tool does: one look at everything, and what is wrong. */

import { z } from 'zod'
import { troublesAnswer, watchAnswer } from '../answers.ts'
import type { Call } from '../call.ts'
import { AUDIT, OPERATOR_SALE } from './examples.ts'

const operators = { group: 'Operators', who: 'operator', method: 'GET' } as const

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
      body: troublesAnswer,
      example: { trouble: [{ code: 'refunds_stuck', since: AT, count: 2 }] },
    },
  },
  problems: [],
} satisfies Call

export const OPS_CALLS: readonly Call[] = [SALE_WATCHED, TROUBLE_READ]
