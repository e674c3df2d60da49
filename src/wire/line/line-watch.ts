/** A waiting line as operators watch it. */

import { z } from 'zod'
import { type Call, callsForOperators, json } from '../call.ts'
import { beaconAnswer, lineRate } from './line-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const time = z.iso.datetime({ precision: 3 })
const count = z.int().min(0)
const hex = z.string().regex(/^[0-9a-f]{64}$/)

const lineWatchAnswer = z
  .object({
    at: time,
    order: z.enum(['arrival', 'draw']),
    state: z.enum(['scheduled', 'joining', 'drawn', 'letting_in', 'over']),
    joined: count.describe('In line: waiting, let in, or with an order.'),
    waiting: count.describe('Not let in yet.'),
    letIn: count.describe('Of those in line, how many were let in.'),
    ordered: count.describe('How many of them have placed an order, as of the last seconds.'),
    missed: count.describe('Were let in, placed no order in time, and have not joined again.'),
    left: count.nullable().describe('Units left in the sale; null: not known here.'),
    rate: lineRate.describe('As set: people a second.'),
    perSecond: z.number().min(0).describe('People let in per second, over the last ten.'),
    paused: z.boolean(),
    claimWithinSeconds: z.number(),
    curve: z
      .array(z.object({ at: time, joined: count, letIn: count, ordered: count }))
      .describe('Since this process knows the line, oldest first, at most 240 points.'),
    draw: z
      .object({
        sealsAt: time,
        commitment: hex,
        sealedJoins: count.optional().describe('How many are drawn; absent before the seal.'),
        root: hex.optional(),
        beacon: beaconAnswer.optional().describe('With its `value` as soon as it is known.'),
        beaconState: z
          .enum(['none', 'not_yet', 'fetched_soon', 'to_enter', 'known'])
          .describe(
            '`none`: the draw names none. `not_yet`: the joins are not sealed. `to_enter`: an operator must enter it.',
          ),
        drawnAt: time.optional(),
      })
      .optional()
      .describe('Where the order is drawn.'),
  })
  .meta({ id: 'LineWatch' })

const AT = '2026-11-13T09:59:30.000Z'
const HEX = '5f'.repeat(32)

export const lineWatchCalls = {
  watchLine: viewers.get(
    '/api/admin/sales/{sale}/line',
    'The waiting line: how long, how fast, and how far its draw is',
    {
      more: 'From the copy that the server that is asked has of the line. From the opening of the line until an hour after the sale.',
      answers: {
        200: json('The line at this moment.', lineWatchAnswer, {
          at: AT,
          order: 'draw',
          state: 'joining',
          joined: 4711,
          waiting: 4711,
          letIn: 0,
          ordered: 0,
          missed: 0,
          left: 42,
          rate: 'auto',
          perSecond: 0,
          paused: false,
          claimWithinSeconds: 120,
          curve: [{ at: AT, joined: 4711, letIn: 0, ordered: 0 }],
          draw: {
            sealsAt: '2026-11-13T09:59:00.000Z',
            commitment: HEX,
            sealedJoins: 4700,
            root: HEX,
            beacon: { source: 'the numbers of a public lottery on Friday' },
            beaconState: 'to_enter',
          },
        }),
      },
    },
  ),
} satisfies Record<string, Call>

export type LineWatchAnswer = z.infer<typeof lineWatchAnswer>
