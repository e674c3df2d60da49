/** The bodies of the calls for alerts. */

import { z } from 'zod'

const channel = z.enum(['webhook', 'slack', 'email']).describe('Where it is told.')
const moment = z.iso.datetime()

export const alertsAnswer = z.object({
  channels: z.array(
    z.object({
      channel,
      waiting: z.int().min(0).describe('Messages that it was not told yet.'),
      toldAt: moment.nullable().describe('When it was last told something; tests do not count.'),
      failingSince: moment.nullable().describe('Since then every try has failed; null: the last one did not.'),
      problem: z.string().nullable().describe('What was wrong with the last try.'),
    }),
  ),
})
export type AlertsAnswer = z.infer<typeof alertsAnswer>

export const alertTestAnswer = z.object({
  channels: z.array(
    z.object({
      channel,
      told: z.boolean(),
      problem: z.string().nullable().describe('Why not, or what did not go well.'),
      tookMs: z.int().min(0),
    }),
  ),
})
export type AlertTestAnswer = z.infer<typeof alertTestAnswer>
