/** The waiting line as operators describe it, as a sale shows it, and as buyers in it see it. */

import { z } from 'zod'
import { CLAIM_WITHIN_S, LINE_RATE_MAX } from '../../domain/line.ts'

const shownTime = z.iso.datetime({ precision: 3 })
const count = z.int().min(0)
const hex = z.string().regex(/^[0-9a-f]{64}$/)

const lineRate = z.union([z.literal('auto'), z.number().min(0.1).max(LINE_RATE_MAX)])

/** @param time how operators write a time */
export function lineInputWith<Time extends z.ZodType<number>>(time: Time) {
  return z
    .strictObject({
      opensAt: time,
      order: z.literal('arrival', 'only "arrival" is built yet'),
      rate: lineRate
        .default('auto')
        .describe('People let in per second. `auto`: as many as there are units for, as fast as the load allows.'),
      sealsAt: time.optional(),
      claimWithinSeconds: z
        .int()
        .min(1)
        .max(3600)
        .default(CLAIM_WITHIN_S)
        .describe('Who is let in gets a ticket for so long.'),
      beacon: z.strictObject({ source: z.string().min(1).max(200), round: z.int().min(1).optional() }).optional(),
    })
    .describe('Buyers join a line and get tickets when they are let in. Without it: first come, first served.')
}

export const saleLineAnswer = z
  .object({
    opensAt: shownTime,
    order: z.enum(['arrival', 'draw']),
    state: z.enum(['scheduled', 'joining', 'drawn', 'letting_in', 'over']),
    joined: count.describe('How many are in line, as far as the server that is asked knows.'),
    rate: lineRate,
    claimWithinSeconds: z.number(),
    sealsAt: shownTime.optional(),
    paused: z.boolean().optional().describe('An operator lets no more people in for now.'),
    commitment: hex.optional(),
    root: hex.optional(),
    seed: hex.optional(),
  })
  .meta({ id: 'SaleLine' })

export const joinAnswer = z
  .object({
    number: z.int().min(1).describe('Given in the order of joining, never twice.'),
    state: z
      .enum(['waiting', 'admitted', 'missed', 'done'])
      .describe(
        '`admitted`: a ticket is given until `claimBy`. `missed`: that time is over. `done`: there is a live order.',
      ),
    place: z.int().min(1).nullable().describe('null before the draw.'),
    ahead: count.nullable().describe('How many are let in before. null before the draw.'),
    estimate: z
      .object({ fromSeconds: count, toSeconds: count })
      .nullable()
      .describe('From the rates of the last minute; null: unknown.'),
    pollAfterSeconds: z.int().min(1).describe('Ask again after so long.'),
    claimBy: shownTime.optional().describe('Of `admitted`.'),
    left: count
      .nullable()
      .describe('Units left in the sale; null: not known here. At 0 the line waits for units that come back.'),
    proof: hex.describe(
      'HMAC-SHA-256 of sale, number and buyer under the salt: what the record of a draw shows of this join.',
    ),
    salt: hex.describe('Known to this buyer alone.'),
    head: hex.describe('Of the chain over all joins up to this one: a receipt.'),
  })
  .meta({ id: 'Join' })

export const rateInput = z.strictObject({ rate: lineRate })

export type SaleLineAnswer = z.infer<typeof saleLineAnswer>
export type JoinAnswer = z.infer<typeof joinAnswer>
