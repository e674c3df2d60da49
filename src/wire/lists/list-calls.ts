/** The calls for the access list: viewers read it, operators change it. */

import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { accessAnswer, accessInput, accessListAnswer } from './list-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const operators = callsForOperators('Operators', 'operator')

const NEW = { kind: 'deny', subject: 'prefix', value: '203.0.113.0/24', reason: '900 accounts' }
const ENTRY = { id: '4711001337000001', ...NEW, by: 'ops', at: AT }

export const listCalls = {
  addAccess: operators.post('/api/admin/lists', 'Deny or allow an address, a range, a buyer or a claim', {
    more:
      'In force on every edge within a second. Denied buyers and addresses get `403 denied`; a buyer who holds an order keeps it, and can pay it. What is ' +
      'allowed is counted by no limit and asked for no challenge. Of two entries about one address the narrower wins, of equal ones `deny`. The same ' +
      'kind, subject and value again gets the new end and reason.',
    body: { schema: accessInput, example: NEW },
    answers: { 201: json('The entry.', accessAnswer, ENTRY) },
    problems: ['not_changeable'],
  }),
  accessList: viewers.get('/api/admin/lists', 'The entries in force, newest first', {
    answers: { 200: json('The entries that are in force.', accessListAnswer, { lists: [ENTRY] }) },
  }),
  removeAccess: operators.delete('/api/admin/lists/{entry}', 'Take an entry off the list', {
    answers: { 204: { what: 'It is gone.' } },
  }),
} satisfies Record<string, Call>
