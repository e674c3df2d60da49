/** What a shop that takes the money itself reports, and what it is answered. A capture has an amount and a refund has none: neither can be taken for the other. */

import { z } from 'zod'
import { isId } from '../../domain/ids.ts'
import { moneyAnswer } from '../answers.ts'
import { money } from '../inputs.ts'

const order = z.string().refine(isId, 'must be the id of an order')
const reference = z.string().regex(/^[!-~]{1,100}$/, 'must be 1 to 100 visible ASCII characters, without blanks')

export const shopCaptureInput = z.strictObject({
  order,
  reference: reference.describe("The shop's own name of this payment. The same one again is the same payment."),
  amount: money.describe('What was taken.'),
})

export const shopRefundInput = z.strictObject({
  order,
  reference: reference.describe('That of the capture.'),
  part: z
    .string()
    .refine(isId, 'must be the "part" of the event')
    .optional()
    .describe('The `part` of the event, if it has one.'),
  refundReference: reference.describe("The shop's own name of the refund."),
})

export const shopRefundAnswer = z.object({
  order: z.string(),
  reference: z.string(),
  part: z.string().optional(),
  refundReference: z.string(),
  amount: moneyAnswer,
  state: z.literal('refunded'),
})
