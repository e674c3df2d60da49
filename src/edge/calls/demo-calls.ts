/** The demo's crowd: simulated buyers that anybody may let loose on the demo sale. Off wherever there is no demo. */

import { z } from 'zod'
import type { Call } from '../call.ts'
import { SALE } from './examples.ts'

const demoAnswer = z
  .object({
    crowd: z
      .enum(['off', 'offered', 'running', 'done'])
      .meta({ description: '`off`: there is no demo sale here, or nobody could sign in as a guest.' }),
    sale: z
      .string()
      .regex(/^[1-9][0-9]{0,18}$/)
      .optional()
      .meta({ description: 'The demo sale; absent when off.' }),
    buyers: z.int().min(1).meta({ description: 'How many come at one press.' }),
  })
  .meta({ id: 'Demo' })

export type DemoAnswer = z.output<typeof demoAnswer>

const demo = { group: 'Buyers', who: 'anyone' } as const
const example = { sale: SALE.id, buyers: 2000 }

export const DEMO = {
  ...demo,
  method: 'GET',
  path: '/api/demo',
  summary: 'Is there a demo sale, and where is its crowd?',
  answers: {
    200: {
      what: 'What it is doing.',
      body: demoAnswer,
      headers: ['cache-control'],
      example: { ...example, crowd: 'offered' },
    },
  },
  problems: [],
} satisfies Call

export const CROWD_BROUGHT = {
  ...demo,
  method: 'POST',
  path: '/api/demo/crowd',
  summary: 'Let simulated buyers loose on the demo sale',
  more: 'Before the opening they get their tickets and wait for it. While they are at it, asking again changes nothing.',
  answers: {
    202: {
      what: 'They are on their way.',
      body: demoAnswer,
      headers: ['cache-control'],
      example: { ...example, crowd: 'running' },
    },
  },
  problems: ['not_found'],
} satisfies Call

export const DEMO_CALLS: readonly Call[] = [DEMO, CROWD_BROUGHT]
