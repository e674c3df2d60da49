/** Dead letters as operators read them: reservations that could not be placed. */

import { z } from 'zod'
import { plainId, plainTime } from '../answers.ts'
import { pageQuery } from '../inputs.ts'

export const deadLettersQuery = pageQuery(50, 500)

const deadLetter = z.object({
  id: plainId,
  at: plainTime,
  item: z.string().describe('0: its item could not be read.'),
  epoch: z.int().min(0),
  entry: z.string().describe('The outbox entry or the message it was read from; `hand-over` where an edge found it.'),
  order: z.string().optional().describe('Missing: the order could not be read, or it is a whole message.'),
  why: z.string(),
  born: z
    .array(z.object({ id: plainId, state: z.enum(['pending', 'paid', 'closed']) }))
    .describe('The orders that were born of it.'),
  retryable: z.boolean().describe('A reservation can be read from it of which no order was born.'),
})

export const deadLetterAnswer = deadLetter.meta({ id: 'DeadLetter' })
export const wholeDeadLetterAnswer = deadLetter
  .extend({ raw: z.string().describe('What it was, cut off where it is too long to be kept.') })
  .meta({ id: 'WholeDeadLetter' })
export const deadLettersAnswer = z.object({ letters: z.array(deadLetterAnswer), next: z.string().nullable() })

export type DeadLetterAnswer = z.infer<typeof deadLetterAnswer>
export type WholeDeadLetterAnswer = z.infer<typeof wholeDeadLetterAnswer>
export type DeadLettersAnswer = z.infer<typeof deadLettersAnswer>
