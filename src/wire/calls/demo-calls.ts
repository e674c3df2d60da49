/** The demo's crowd: simulated buyers that anybody may let loose on the demo sale. Off wherever there is no demo. */

import { demoAnswer } from '../answers.ts'
import type { Call } from '../call.ts'
import { SALE } from './examples.ts'

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
