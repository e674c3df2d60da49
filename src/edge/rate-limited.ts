/** "Too many requests", with what a client needs to do better. */

import { type RateLimited, rateLimitHeaders } from '../admission/rate-limit-policy.ts'
import { problem } from './problems.ts'

export function rateLimitedProblem(refused: RateLimited): Response {
  return problem('rate_limited', {
    detail: `At most ${refused.limit} in ${refused.windowS} s (${refused.policy}). Ask again in ${refused.retryAfterS} s.`,
    headers: rateLimitHeaders(refused),
  })
}
