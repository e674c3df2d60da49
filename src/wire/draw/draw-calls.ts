/** The calls of a draw: anyone downloads its record; operators enter the value of a beacon that they have named. */

import { z } from 'zod'
import { operatorSaleAnswer } from '../answers.ts'
import { type Call, callsFor, callsForOperators, json } from '../call.ts'
import { OPERATOR_SALE } from '../calls/examples.ts'
import { beaconAnswer } from '../line/line-shapes.ts'

const anyone = callsFor('Buyers', 'anyone')
const operators = callsForOperators('Operators', 'operator')

const hex = z.string().regex(/^[0-9a-f]{64}$/)
const number = z.int().min(1)
const HEX = '5f'.repeat(32)

const drawRecordAnswer = z
  .object({
    algorithm: z.string().describe('Names every rule by which the rest is checked (docs/fairness.md).'),
    sale: z.string(),
    commitment: hex.describe('SHA-256 of the seed, shown since the line opened.'),
    root: hex.describe('The head of the chain over all joins at the seal, shown since then.'),
    seed: hex,
    sealsAt: z.string(),
    beacon: beaconAnswer.optional(),
    note: z.string().optional().describe('Without a beacon: what this record can not rule out.'),
    joins: z.array(z.object({ number, proof: hex, left: z.boolean().optional().describe('Left before the seal.') })),
    places: z
      .array(number)
      .describe('The numbers in the order of their places. Those who left keep theirs, and are skipped.'),
  })
  .meta({ id: 'DrawRecord' })

const RECORD = {
  algorithm: 'stampede-draw-1',
  sale: '4711001337000000',
  commitment: HEX,
  root: HEX,
  seed: HEX,
  sealsAt: '2026-11-13T09:59:00.000Z',
  beacon: { source: 'drand', round: 34_000_000, value: HEX, signature: '5f'.repeat(48) },
  joins: [
    { number: 1, proof: HEX },
    { number: 2, proof: HEX, left: true },
  ],
  places: [2, 1],
}

const beaconInput = z.strictObject({
  value: z
    .string()
    .regex(
      /^[\x21-\x7e]([\x20-\x7e]{0,198}[\x21-\x7e])?$/,
      'must be 1 to 200 printable ASCII characters, without spaces at its ends',
    )
    .describe('Exactly as the source published it.'),
})

export const drawCalls = {
  drawRecord: anyone.get('/api/sales/{sale}/draw', 'The record of the draw, to check every place', {
    more: 'A file that is made once; a million joins are about 100 MB. `stampede draw verify` checks it. It names no buyer.',
    takes: ['If-None-Match'],
    answers: {
      200: json('The record.', drawRecordAnswer, RECORD, ['etag']),
      304: { what: 'Not changed since that ETag.', headers: ['etag'] },
    },
    problems: ['not_drawn'],
  }),
  enterBeacon: operators.post(
    '/api/admin/sales/{sale}/line/beacon',
    'Enter the value of the beacon that the draw has named',
    {
      more: 'Once, after the seal, and written to the log. Again with the same value: the same answer. The line is drawn with it at once.',
      body: { schema: beaconInput, example: { value: '07 12 23 31 38 44' } },
      answers: { 200: json('The sale.', operatorSaleAnswer, OPERATOR_SALE) },
      problems: ['not_sealed', 'beacon_not_taken'],
    },
  ),
} satisfies Record<string, Call>
