/** Orders over all sales: what may be asked, and the answer. */

import { z } from 'zod'
import { isId } from '../../domain/ids.ts'
import { EMAIL_LENGTH_MAX } from '../../domain/parcel.ts'
import { orderAnswer, plainId, plainTime } from '../answers.ts'
import { label, pageQuery, time } from '../inputs.ts'
import { parcelShape } from './parcel-shapes.ts'

export const foundOrdersQuery = pageQuery(100, 1000).extend({
  updatedAfter: time
    .optional()
    .meta({ type: 'string', format: 'date-time' })
    .describe('Only orders that changed at or after this time, the oldest change first.'),
  q: label(EMAIL_LENGTH_MAX)
    .optional()
    .describe(
      "An order's id, a buyer, or the e-mail address, phone number or name of a contact: the whole of it. With `updatedAfter` an id or a buyer only.",
    ),
  sale: z.string().refine(isId, 'is not the id of a sale').optional(),
  state: z.enum(['pending', 'paid', 'closed']).optional(),
})

export const foundOrdersAnswer = z.object({
  orders: z.array(
    z
      .object({
        ...orderAnswer.shape,
        ...parcelShape,
        updatedAt: plainTime.optional().describe('With `updatedAfter`: when it changed.'),
      })
      .meta({ id: 'FoundOrder' }),
  ),
  next: plainId.nullable().describe('The cursor for `after`; null at the end.'),
  total: z.int().min(0).max(10_000).describe('How many orders the query finds, over all pages; at most 10,000.'),
  totalIsExact: z.boolean().describe('False: there are more than `total`, or it was counted among the newest only.'),
})

export type FoundOrdersAnswer = z.output<typeof foundOrdersAnswer>
