/** The calls for alerts: where people are told of troubles. The channels are settings; operators see how they are, and send a test. */

import { type Call, callsForOperators, json } from '../call.ts'
import { AT } from '../calls/examples.ts'
import { alertsAnswer, alertTestAnswer } from './alert-shapes.ts'

const viewers = callsForOperators('Operators', 'viewer')
const operators = callsForOperators('Operators', 'operator')

export const alertCalls = {
  alerts: viewers.get('/api/admin/alerts', 'Where people are told of troubles', {
    more: 'The channels of the settings ALERT_WEBHOOK_URL, ALERT_SLACK_URL and ALERT_EMAIL_TO, and how far each has been told. The addresses are not shown.',
    answers: {
      200: json('The channels; none where none is set.', alertsAnswer, {
        channels: [{ channel: 'email', waiting: 0, toldAt: AT, failingSince: null, problem: null }],
      }),
    },
  }),
  testAlerts: operators.post('/api/admin/alerts/test', 'Send a test to every channel', {
    more: 'Now and directly, without the ledger. Ends within ALERT_TIMEOUT_MS.',
    answers: {
      200: json('What came of it.', alertTestAnswer, {
        channels: [{ channel: 'email', told: true, problem: null, tookMs: 180 }],
      }),
    },
  }),
} satisfies Record<string, Call>
