/** The waiting line as operators describe it, as a sale shows it, and as buyers in it see it. */

import { z } from 'zod'
import { CLAIM_WITHIN_S, LINE_RATE_MAX } from '../../domain/line.ts'

const shownTime = z.iso.datetime({ precision: 3 })
const count = z.int().min(0)
const hex = z.string().regex(/^[0-9a-f]{64}$/)

export const lineRate = z.union([z.literal('auto'), z.number().min(0.1).max(LINE_RATE_MAX)])

/** @param time how operators write a time */
export function lineInputWith<Time extends z.ZodType<number>>(time: Time) {
  return z
    .strictObject({
      opensAt: time,
      order: z
        .enum(['arrival', 'draw'])
        .describe(
          '`draw`: who joins before `sealsAt` gets a place by a draw that anyone can check; later joins stand behind.',
        ),
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
      beacon: z
        .strictObject({
          source: z
            .string()
            .regex(/^[\x20-\x7e]{3,200}$/, 'must be 3 to 200 printable ASCII characters')
            .describe('`drand`, or a public source in your words, whose value you enter after the seal.'),
          round: z.int().min(1).optional().describe('Of drand (quicknet). Without it: the first round after the seal.'),
        })
        .optional()
        .describe(
          'Of a draw: a value that does not exist yet when the joins are sealed. Without one, an operator who knows the seed could try out last joins.',
        ),
      claim: z
        .string()
        .regex(/^[\w.:/-]{1,100}$/, 'must be the name of a claim')
        .optional()
        .describe("A claim of the shop's token, such as a verified phone number: each value of it may join once."),
    })
    .describe('Buyers join a line and get tickets when they are let in. Without it: first come, first served.')
}

export const beaconAnswer = z.object({
  source: z.string(),
  round: z.int().optional(),
  value: z.string().optional().describe('From the draw on.'),
  signature: z.string().optional().describe('Of drand: proves the value.'),
})

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
    beacon: beaconAnswer.optional(),
    claim: z.string().optional().describe("Each value of this claim of the shop's token may join once."),
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
