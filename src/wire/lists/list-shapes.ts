/** The access list as operators write and read it. */

import { z } from 'zod'
import { ACCESS_SUBJECTS } from '../../domain/access-entry.ts'
import { plainId, plainTime } from '../answers.ts'
import { label, time } from '../inputs.ts'

const VALUE_LENGTH_MAX = 200

export const accessInput = z.strictObject({
  kind: z.enum(['deny', 'allow']),
  subject: z.enum(ACCESS_SUBJECTS),
  value: label(VALUE_LENGTH_MAX).describe(
    'An IP address (of IPv6 its /64 counts), a range like 203.0.113.0/24, a buyer id, or a claim of the shop’s token as name=value.',
  ),
  until: time.optional().describe('Without it, for good.'),
  reason: label(VALUE_LENGTH_MAX).optional(),
})

export const accessAnswer = z
  .object({
    id: plainId,
    kind: z.enum(['deny', 'allow']),
    subject: z.enum(ACCESS_SUBJECTS),
    value: z.string(),
    until: plainTime.optional(),
    reason: z.string().optional(),
    by: z.string(),
    at: plainTime,
  })
  .meta({ id: 'AccessEntry' })

export const accessListAnswer = z.object({ lists: z.array(accessAnswer) })

export type AccessAnswer = z.infer<typeof accessAnswer>
export type AccessListAnswer = z.infer<typeof accessListAnswer>
