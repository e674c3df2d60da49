/** Who may ask, and how often: tickets, buyers' tokens, operators, and the limits that edges may share. */

import { AccessLists } from '../admission/access-lists.ts'
import { createBuyerTokens } from '../admission/buyer-token.ts'
import { createChallengeOffice } from '../admission/challenge/challenge-office.ts'
import { createDifficulty } from '../admission/challenge/difficulty.ts'
import { createSiteverify } from '../admission/challenge/siteverify.ts'
import { createChallenges } from '../admission/challenges.ts'
import { createHoldKeys } from '../admission/hold-keys.ts'
import { MemoryHoldCounts } from '../admission/holds/memory-hold-counts.ts'
import { createOperators } from '../admission/operator.ts'
import { OperatorGuard } from '../admission/operator-guard.ts'
import { Sharing } from '../admission/rate/sharing.ts'
import { createCallLimits, createRateLimits } from '../admission/rate-limits.ts'
import { createRedisHoldCounts } from '../admission/redis/redis-hold-counts.ts'
import { createRedisSharedCounts } from '../admission/redis/redis-shared-counts.ts'
import { createRemoteKeys } from '../admission/remote-keys.ts'
import { createSharedRateLimits } from '../admission/shared-rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import { AccessFollower } from '../flows/follow/follow-access.ts'
import { HoldBudget } from '../flows/sell/hold-budget.ts'
import { keepSecret, ownSecret } from './config/secrets.ts'
import type { ProcessContext } from './process-context.ts'

export function composeAdmission(context: ProcessContext, redis: RedisConnection | undefined) {
  const { config, log, clock, random, meters } = context
  const secret = (name: string) => ownSecret(config, random, name)
  const tickets = createTicketOffice(parseTicketKeys(config.ticketKeys ?? `kept:${secret('ticket-key')}`))
  const keys = createHoldKeys(secret('hold-keys'))
  const lists = new AccessLists(clock, keys)
  const isEdge = config.roles.includes('edge')
  const sharing = isEdge ? composeSharing(context, redis) : undefined
  const challenges = createChallenges({
    office:
      config.challengeProvider === undefined
        ? createChallengeOffice({ secret: secret('challenge'), clock, random })
        : createSiteverify({ provider: config.challengeProvider, secret: secret('challenge'), clock, log }),
    difficulty: createDifficulty({ clock, random, edges: () => sharing?.edges ?? 1 }),
    meters,
  })
  const budget = new HoldBudget({
    ...context,
    shared: redis && createRedisHoldCounts({ connection: redis, clock }),
    own: new MemoryHoldCounts(clock),
    keys,
    defaults: config.holds,
  })
  context.messages.listen({ orderChanged: order => budget.orderChanged(order), saleChanged() {} })
  const onFailed = (why: string) => log.warn({ event: 'keys_not_fetched', why }, "the shop's keys could not be fetched")
  const { jwksUrl } = config.buyerJwt
  const buyers = createBuyerTokens({
    clock,
    ...(jwksUrl !== undefined && { keys: createRemoteKeys({ url: jwksUrl, clock, onFailed }) }),
    ...(config.buyerJwt.secret !== undefined && { secret: config.buyerJwt.secret }),
    ...(config.buyerJwt.issuer !== undefined && { issuer: config.buyerJwt.issuer }),
    ...(config.buyerJwt.audience !== undefined && { audience: config.buyerJwt.audience }),
    endless: config.buyerJwt.endless,
    ...(config.guestSignIn && { guestSecret: secret('guest-secret') }),
  })
  const kept = config.adminTokens.length > 0 ? undefined : keepSecret(config.dataDir, 'admin-token', random)
  const operators = createOperators(
    kept === undefined ? config.adminTokens : [{ name: 'admin', role: 'admin', token: kept.value }],
  )
  const limitsOf = (what: string, rates: typeof config.rates) =>
    sharing === undefined
      ? createRateLimits({ ...rates, clock, random })
      : createSharedRateLimits({ what, ...rates, sharing, secret: secret('rate-keys'), clock, random, meters })
  return {
    isEdge,
    secret,
    tickets,
    challenges,
    lists,
    budget,
    accessFollower: new AccessFollower(context.ledger.access, lists),
    buyers,
    operators,
    guard: new OperatorGuard({ operators, clock, random, meters, log }),
    adminTokenPath: kept?.path,
    sharing,
    orderLimits: limitsOf('orders', config.rates),
    callLimits: createCallLimits({ ...config.callRates, clock, random }),
    ticketLimits: limitsOf('tickets', { ...config.rates, total: undefined, perItem: undefined }),
  }
}

/** With whom limits are shared; undefined where each process counts for itself. */
function composeSharing({ config, clock, random, log, meters }: ProcessContext, redis: RedisConnection | undefined) {
  if (config.rateSharing === undefined || redis === undefined) return undefined
  const counts = createRedisSharedCounts({ connection: redis, random })
  return new Sharing({ counts, clock, log, meters, edgesAssumed: config.rateSharing.edgesAssumed })
}
