/** The calls for unpaid holds: viewers see them, operators cancel chosen ones. */

import { type Call, callsForOperators, json } from '../call.ts'
import { ORDER } from '../calls/examples.ts'
import { cancelHoldsInput, cancelledHoldsAnswer, holdsAnswer, holdsQuery } from './hold-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const operators = callsForOperators('Operators', 'operator')

const { id, item, buyer, attempt, quantity, placedAt, payBy } = ORDER
const HOLD = { id, item, buyer, attempt, quantity, placedAt, payBy, network: '203.0.113.0/24', claims: [] }
const GROUP = { subject: 'network', value: HOLD.network, orders: 30, quantity: 50 }

export const holdCalls = {
  holds: viewers.get('/api/admin/sales/{sale}/holds', 'Orders of a sale that are open and not paid', {
    more: 'With the networks and claims behind them, where the sale limits holds. Of one network, claim or buyer, if the query says so.',
    query: holdsQuery,
    answers: { 200: json('A page, oldest first.', holdsAnswer, { holds: [HOLD], groups: [GROUP], next: null }) },
  }),
  cancelHolds: operators.post('/api/admin/holds/cancel', 'Cancel chosen orders that are not paid', {
    more:
      'Each is cancelled as by `/orders/{id}/cancel`: a provider is asked first whether money has come. Units come back on sale in random steps within 2 s. Each is in ' +
      'the log. Asking again is harmless.',
    body: { schema: cancelHoldsInput, example: { orders: [id], reason: '30 guests of one network' } },
    answers: { 200: json('What became of them.', cancelledHoldsAnswer, { cancelled: [id], kept: [] }) },
  }),
} satisfies Record<string, Call>
