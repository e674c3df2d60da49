/** The call for what the crowd's rules have turned away. */

import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { abuseAnswer } from './abuse-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')

const COUNTED = { total: 5120, atLeast: 5100, reasons: { rate_limited: 4000, ticket_invalid: 1100 }, denied: false }

export const abuseCalls = {
  abuse: viewers.get('/api/admin/abuse', 'Who was turned away lately, and why', {
    more:
      'Requests that limits, lists, the risk hook, tickets and challenges have refused in the last ten to twenty minutes, by all processes: in all, and ' +
      'the networks (and the claims named in ABUSE_CLAIMS) with the most. What is sold out, paused or too early is not among them. Each process writes its counts every few seconds.',
    answers: {
      200: json('Counts by reason, network and claim.', abuseAnswer, {
        since: AT,
        reasons: { rate_limited: 9000, ticket_invalid: 1100 },
        networks: [{ network: '203.0.113.0/24', ...COUNTED }],
        claims: [{ claim: 'phone=none', total: 12, atLeast: 12, reasons: { denied: 12 }, denied: true }],
        risk: 'off',
      }),
    },
  }),
} satisfies Record<string, Call>
