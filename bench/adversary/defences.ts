/** What stands before the units, each to be switched on and off: by settings of the server, or by terms of the sale. */

import type { Plan } from './population.ts'

interface Defence {
  readonly name: string
  readonly what: string
  readonly env?: (hookUrl: string) => Readonly<Record<string, string>>
  /** Settings without it, where it is on unless it is switched off. */
  readonly without?: Readonly<Record<string, string>>
  readonly terms?: (plan: Plan) => Readonly<Record<string, unknown>>
}

export const DEFENCES: readonly Defence[] = [
  {
    name: 'challenge',
    what: 'a proof of work of difficulty 32 before the ticket',
    terms: () => ({ challenge: 32 }),
  },
  {
    name: 'late tickets',
    what: 'tickets two minutes before the opening instead of half an hour',
    terms: ({ ticketsForS }) => ({ ticketsBeforeSeconds: ticketsForS }),
  },
  {
    name: 'bound tickets',
    what: 'TICKET_BINDING=prefix',
    env: () => ({ TICKET_BINDING: 'prefix' }),
  },
  {
    name: 'limits',
    what: 'RATE_PER_ADDRESS=300/1s (an office presses together), RATE_PER_BUYER=5/1s, networks 20 times as much',
    env: () => ({ RATE_PER_ADDRESS: '300/1s', RATE_PER_BUYER: '5/1s' }),
    without: { RATE_PER_ADDRESS: 'off', RATE_PER_BUYER: 'off' },
  },
  {
    name: 'risk hook',
    what: 'RISK_URL: the shop denies a second account with the same phone number',
    env: hookUrl => ({
      RISK_URL: hookUrl,
      RISK_SECRET: `whsec_${Buffer.from('only for the adversary of the bench').toString('base64')}`,
      RISK_ALLOW_PRIVATE: '127.0.0.0/8',
      RISK_TIMEOUT_MS: '10000',
      RISK_ON_FAILURE: 'deny',
    }),
  },
  {
    name: 'holds',
    what: 'one unpaid unit per buyer and per phone number, 120 per prefix; none again after an unpaid closing',
    terms: ({ payWithinS }) => ({
      holds: {
        perBuyer: 1,
        perPrefix: 120,
        perClaim: { phone: 1 },
        unpaidCountsSeconds: 3 * payWithinS,
        attemptsUnpaid: 1,
      },
    }),
  },
]
