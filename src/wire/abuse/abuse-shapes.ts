/** Who was turned away, and why, as operators read it. */

import { z } from 'zod'
import { plainTime } from '../answers.ts'
import { REFUSAL_REASONS } from './refusal-reasons.ts'

const count = z.int().min(0)
const reasons = z
  .partialRecord(z.enum(REFUSAL_REASONS), count)
  .describe('Requests by reason; those that are 0 are left out.')

const counted = {
  total: count.describe('At most so many requests.'),
  atLeast: count.describe(
    'At least so many: the list is bounded, and a new entry begins with what the last one in its place had.',
  ),
  reasons,
  denied: z.boolean().describe('An operator keeps it out already.'),
}

export const abuseAnswer = z
  .object({
    since: plainTime.nullable().describe('When the first of these was counted; null: nothing was.'),
    reasons,
    networks: z.array(z.object({ network: z.string().describe('An IPv4 /24 or an IPv6 /48.'), ...counted })),
    claims: z.array(z.object({ claim: z.string().describe('name=value of the shop’s token.'), ...counted })),
    risk: z
      .enum(['off', 'asking', 'resting'])
      .describe('The risk hook, as this process sees it. resting: it failed too often.'),
  })
  .meta({ id: 'Abuse' })

export type AbuseAnswer = z.infer<typeof abuseAnswer>
