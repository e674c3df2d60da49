/** What each trouble is called in an alert, and what to do, in a sentence each. The operations page has longer ones, in both languages. */

import type { TroubleCode } from '../wire/monitor-codes.ts'

interface TroubleText {
  readonly title: string
  readonly todo: string
}

export const TROUBLE_TEXTS: Readonly<Record<TroubleCode, TroubleText>> = {
  promise_broken: {
    title: 'A promise is broken',
    todo: 'Pause the sale, then reconcile. If it remains, keep the log and investigate.',
  },
  inconsistent: { title: 'Gate and ledger do not agree', todo: 'Reconcile the sale.' },
  ledger_away: {
    title: 'The ledger (PostgreSQL) does not answer',
    todo: 'Restore the database. Nothing is sold and nothing is lost until it answers.',
  },
  unready: { title: 'A server is not ready for traffic', todo: 'Run “stampede doctor” on its machine.' },
  door_shut: {
    title: 'An item can’t be sold: its door is shut',
    todo: 'Restore Redis with its data, or let the ledger sell the item.',
  },
  clock_skew: { title: 'A machine’s clock and the database’s differ', todo: 'Synchronise both with NTP.' },
  withdrawn: {
    title: 'An item is off sale while its gate is rebuilt',
    todo: 'It returns by itself. If not within a minute, press “Warm now”.',
  },
  unsettled: { title: 'Reservations wait for the ledger', todo: 'If they remain when the ledger answers, reconcile.' },
  unsafe_setting: {
    title: 'A setting is for trying or testing',
    todo: 'Change it and restart before real buyers come.',
  },
  token_guessing: {
    title: 'Operator tokens are being guessed',
    todo: 'Keep the address out, and change tokens that may be known.',
  },
  limits_differ: { title: 'Edges have different limits', todo: 'Give all edges the same RATE_ settings.' },
  risk_silent: { title: 'The risk hook does not answer', todo: 'Restore the program at RISK_URL.' },
  alarm: { title: 'Something happened that never should', todo: 'Read the server’s log; see docs/operating.md.' },
  beacon_missing: { title: 'A draw waits for its beacon', todo: 'Check DRAND_HOSTS, or enter the beacon’s value.' },
  provider_silent: {
    title: 'A payment provider does not answer',
    todo: 'Check its status page, the network and the clock.',
  },
  refunds_stuck: { title: 'Refunds are not going through', todo: 'Check the payment provider and the server’s log.' },
  refunds_unconfirmed: {
    title: 'The shop has not confirmed refunds for a day',
    todo: 'Give the money back and report it.',
  },
  provider_missing: {
    title: 'Payments are open at a provider that is not configured',
    todo: 'Put it back into PAYMENT_PROVIDERS.',
  },
  indexes_missing: { title: 'Indexes are missing', todo: 'Keep the leader running: it builds them.' },
  pages_behind: {
    title: 'Pages of sales can’t be put where they belong',
    todo: 'Check PAGES_DIR or the object storage.',
  },
  alerts_failing: { title: 'Alerts do not arrive', todo: 'Check the address and its server; press “Send a test”.' },
}
