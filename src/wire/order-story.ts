/** An order's story as operators read it. */

import { z } from 'zod'
import { orderAnswer, plainTime } from './answers.ts'
import { ORDER } from './calls/examples.ts'

export const orderStoryAnswer = z
  .object({
    order: orderAnswer,
    epoch: z.int().optional().describe('The epoch under which it was placed; none while it is reserved.'),
    itemEpoch: z
      .int()
      .optional()
      .describe('The epoch of its item now. Higher: the gate was handed over or rebuilt since.'),
    trace: z.string().optional().describe('The id of its trace, where its click was traced within the last week.'),
    story: z.array(
      z.object({
        at: plainTime,
        what: z
          .string()
          .describe(
            'asked, reserved, placed, refused, superseded, payment_started, payment_declined, payment_captured, paid, closed/…, refund_asked, refunded, or an action of the log.',
          ),
        by: z.string().describe('The buyer, an operator, a provider, or the part of Stampede that decided.'),
        text: z.string(),
        tookMs: z.int().min(0).optional().describe('Since the step named by `after`.'),
        after: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'OrderStory', description: 'An order and all that happened to it, oldest first.' })

export type OrderStoryAnswer = z.output<typeof orderStoryAnswer>

export const ORDER_STORY = {
  order: ORDER,
  epoch: 3,
  itemEpoch: 3,
  story: [
    { at: ORDER.reservedAt, what: 'asked', by: ORDER.buyer, text: 'asked for 1 unit at node 2, attempt 1' },
    { at: ORDER.reservedAt, what: 'reserved', by: 'gate', text: '1 unit reserved', tookMs: 0, after: 'asked' },
  ],
}
