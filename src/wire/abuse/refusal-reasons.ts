/** Why a request is turned away to keep the crowd civil, as it is counted and shown. Free of zod: the pages may import it. */
export const REFUSAL_REASONS = [
  'rate_limited',
  'denied',
  'risk_denied',
  'ticket_invalid',
  'challenge_invalid',
  'hold_limit',
  'unauthenticated',
] as const

export type RefusalReason = (typeof REFUSAL_REASONS)[number]
