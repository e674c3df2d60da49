/** The call for the last decisions of a process. */

import { z } from 'zod'
import { plainTime } from '../answers.ts'
import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { pageQuery } from '../inputs.ts'

const viewers = callsForOperators('Operators', 'viewer')

const LIMIT = 1_000
const LIMIT_MAX = 4_096

const flightAnswer = z
  .object({
    node: z.int().describe('The node id of the process that answered: each keeps its own.'),
    noted: z.int().describe('How many it has noted since it started; the oldest are gone.'),
    decisions: z.array(
      z.object({
        at: plainTime,
        what: z
          .string()
          .describe(
            'What a click was answered, what the ledger made of a reservation, how an order ended, or an alarm.',
          ),
        about: z.string().optional().describe('The sale (of clicks) or the item.'),
        order: z.string().optional(),
        count: z.int().optional().describe('So many alike, from `at` on.'),
      }),
    ),
  })
  .meta({ id: 'Flight', description: 'The last decisions of one process, oldest first.' })

export type FlightAnswer = z.output<typeof flightAnswer>

export const flightCalls = {
  flight: viewers.get('/api/admin/flight', 'The last decisions of the process that answers', {
    more: 'Each process keeps its last 4,096, with refusals counted. Behind a load balancer, ask the address of the process that you mean.',
    query: pageQuery(LIMIT, LIMIT_MAX).pick({ limit: true }),
    answers: {
      200: json('The last decisions, oldest first.', flightAnswer, {
        node: 2,
        noted: 5120,
        decisions: [
          { at: AT, what: 'placed', about: '4711001337000000', order: '4711001337000002' },
          { at: AT, what: 'sold_out', about: '4711001337000000', count: 99_000 },
        ],
      }),
    },
  }),
} satisfies Record<string, Call>
