/** The calls for dead letters: viewers read them, operators try them again. */

import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { deadLetterAnswer, deadLettersAnswer, deadLettersQuery, wholeDeadLetterAnswer } from './dead-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const operators = callsForOperators('Operators', 'operator')

const LETTER = {
  id: '12',
  at: AT,
  item: '4711001337000001',
  epoch: 4,
  entry: '1763313000000-0',
  order: '4711001337000002',
  why: 'integer out of range',
  born: [],
  retryable: true,
}
const BORN = { ...LETTER, born: [{ id: LETTER.order, state: 'pending' }], retryable: false }
const RAW = '{"order":"4711001337000002","buyer":"buyer-1","attempt":1,"quantity":1,"reservedAtMs":1763313000000}'

export const deadCalls = {
  deadLetters: viewers.get('/api/admin/dead', 'Reservations that could not be placed, the newest first', {
    query: deadLettersQuery,
    answers: { 200: json('A page of dead letters.', deadLettersAnswer, { letters: [LETTER], next: null }) },
  }),
  deadLetter: viewers.get('/api/admin/dead/{letter}', 'One dead letter, with what it was', {
    answers: { 200: json('The dead letter.', wholeDeadLetterAnswer, { ...LETTER, raw: RAW }) },
  }),
  retryDeadLetter: operators.post('/api/admin/dead/{letter}/retry', 'Try to place it again', {
    more:
      'Only while an order is missing: one that was born closed is an answer that its buyer has seen. It is placed as a worker does, judged by ' +
      'the epoch: a letter of an epoch that is over becomes a refused order.',
    answers: { 200: json('The dead letter, with the orders that were born of it.', deadLetterAnswer, BORN) },
    problems: ['not_retryable'],
  }),
} satisfies Record<string, Call>
