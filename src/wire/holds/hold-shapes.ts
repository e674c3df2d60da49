/** Unpaid holds as operators see and cancel them. */

import { z } from 'zod'
import { isBuyerId, isId } from '../../domain/ids.ts'
import { plainId, plainTime } from '../answers.ts'
import { label, pageQuery } from '../inputs.ts'

/** So many are cancelled by one call. */
const CANCELLED_MAX = 500

export const holdsQuery = pageQuery(100, CANCELLED_MAX).extend({
  network: z
    .string()
    .max(64)
    .regex(/^[0-9a-f.:]+\/[0-9]{1,3}$/, 'must be a network like 203.0.113.0/24')
    .optional(),
  claim: z
    .string()
    .max(64)
    .regex(/^\w+-[0-9a-f]+$/, 'must be the value of a group')
    .optional(),
  buyer: z.string().refine(isBuyerId, 'must be a buyer id').optional(),
})

const holdAnswer = z
  .object({
    id: plainId.describe('Of the order.'),
    item: plainId,
    buyer: z.string(),
    attempt: z.number(),
    quantity: z.number(),
    placedAt: plainTime,
    payBy: plainTime,
    network: z.string().optional().describe('Where it came from; unknown where the sale limited nothing then.'),
    claims: z.array(z.string()).describe('Of each claim that the sale limits: its name and a hash of its value.'),
  })
  .meta({ id: 'Hold' })

const holdGroupAnswer = z
  .object({
    subject: z.enum(['network', 'claim']),
    value: z.string(),
    orders: z.number(),
    quantity: z.number().describe('Units.'),
  })
  .meta({ id: 'HoldGroup' })

export const holdsAnswer = z.object({
  holds: z.array(holdAnswer),
  groups: z
    .array(holdGroupAnswer)
    .describe('Behind which networks and claims most of the units are, all pages together.'),
  next: plainId.nullable(),
})

export const cancelHoldsInput = z.strictObject({
  orders: z
    .array(z.string().refine(isId, 'must be the id of an order'))
    .min(1)
    .max(CANCELLED_MAX)
    .refine(ids => new Set(ids).size === ids.length, 'must not name an order twice'),
  reason: label(200).optional().describe('For the log.'),
})

export const cancelledHoldsAnswer = z.object({
  cancelled: z.array(plainId).describe('Closed by this call.'),
  kept: z
    .array(z.object({ order: plainId, why: z.enum(['closed', 'paid', 'missing', 'busy']) }))
    .describe('Not cancelled by this call. `busy`: not known, ask again.'),
})

export type HoldsAnswer = z.infer<typeof holdsAnswer>
export type CancelledHoldsAnswer = z.infer<typeof cancelledHoldsAnswer>
