/** The steps of the funnel and the codes of trouble on the operations page. Free of zod: the page imports the values. */

export const FUNNEL_STEPS = ['asked', 'limited', 'soldOut', 'refused', 'reserved', 'placed', 'paid'] as const
export type FunnelStep = (typeof FUNNEL_STEPS)[number]

export const TROUBLE_CODES = [
  'unready',
  'ledger_away',
  'promise_broken',
  'inconsistent',
  'unsettled',
  'withdrawn',
  'door_shut',
  'clock_skew',
  'beacon_missing',
  'provider_silent',
  'refunds_stuck',
  'refunds_unconfirmed',
  'provider_missing',
  'indexes_missing',
  'unsafe_setting',
  'token_guessing',
  'limits_differ',
  'pages_behind',
  'risk_silent',
  'alarm',
  'alerts_failing',
] as const
export type TroubleCode = (typeof TROUBLE_CODES)[number]
