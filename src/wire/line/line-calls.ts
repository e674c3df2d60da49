/** The calls of the waiting line: buyers join, ask and leave; operators set the rate, pause and resume. */

import { operatorSaleAnswer } from '../answers.ts'
import { type Call, callsFor, callsForOperators, json, uncached } from '../call.ts'
import { OPERATOR_SALE } from '../calls/examples.ts'
import { ticketInput } from '../inputs.ts'
import { joinAnswer, rateInput } from './line-shapes.ts'

const buyer = callsFor('Buyers', 'buyer')
const operators = callsForOperators('Operators', 'operator')
const HEX = '5f'.repeat(32)
const JOIN = {
  number: 4711,
  state: 'waiting',
  place: 4711,
  ahead: 312,
  estimate: { fromSeconds: 40, toSeconds: 75 },
  pollAfterSeconds: 10,
  left: 42,
  proof: HEX,
  salt: HEX,
  head: HEX,
}

const steerOf = (what: string, summary: string) =>
  operators.post(`/api/admin/sales/{sale}/line/${what}`, summary, {
    answers: { 200: json('The sale.', operatorSaleAnswer, OPERATOR_SALE) },
  })

export const lineCalls = {
  joinLine: buyer.post('/api/sales/{sale}/line', 'Join the waiting line', {
    more:
      'From the opening of the line on, for sales that have one. Answered when the join is committed. Again: the same number while it is waiting, admitted ' +
      'or used for a live order; a new last one after a missed time to claim or a closed order. Where the sale has a `challenge`, it stands here, and not ' +
      'before the ticket.',
    body: { schema: ticketInput, example: {} },
    answers: {
      200: uncached('In line already, or again.', joinAnswer, JOIN),
      201: uncached('In line.', joinAnswer, JOIN),
    },
    problems: [
      'challenge_required',
      'challenge_invalid',
      'denied',
      'claim_required',
      'claim_used',
      'sale_not_open',
      'sale_over',
    ],
  }),
  ownJoin: buyer.get('/api/sales/{sale}/line', 'Where am I in line?', {
    answers: { 200: uncached('As it is now.', joinAnswer, JOIN) },
    problems: ['not_in_line'],
  }),
  leaveLine: buyer.delete('/api/sales/{sale}/line', 'Leave the waiting line', {
    answers: { 204: { what: 'Not in line any more.' } },
  }),
  rateLine: operators.post('/api/admin/sales/{sale}/line/rate', 'Set how many people are let in per second', {
    body: { schema: rateInput, example: { rate: 50 } },
    answers: { 200: json('The sale.', operatorSaleAnswer, OPERATOR_SALE) },
  }),
  pauseLine: steerOf('pause', 'Let no more people in for now'),
  resumeLine: steerOf('resume', 'Let people in again'),
} satisfies Record<string, Call>
