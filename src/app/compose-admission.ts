/** Who may ask, and how often: tickets, buyers' tokens, operators, and the limits that edges may share. */

import { createBuyerTokens } from '../admission/buyer-token.ts'
import { createOperators } from '../admission/operator.ts'
import { Sharing } from '../admission/rate/sharing.ts'
import { createRateLimits } from '../admission/rate-limits.ts'
import { createRedisSharedCounts } from '../admission/redis/redis-shared-counts.ts'
import { createRemoteKeys } from '../admission/remote-keys.ts'
import { createSharedRateLimits } from '../admission/shared-rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import type { RedisConnection } from '../base/redis/connection.ts'
import type { ProcessContext } from './process-context.ts'
import { keepSecret, ownSecret } from './secrets.ts'

export function composeAdmission(context: ProcessContext, redis: RedisConnection | undefined) {
  const { config, log, clock, random, meters } = context
  const secret = (name: string) => ownSecret(config, random, name)
  const tickets = createTicketOffice(parseTicketKeys(config.ticketKeys ?? `kept:${secret('ticket-key')}`))
  const onFailed = (why: string) => log.warn({ why }, "the shop's keys could not be fetched")
  const { jwksUrl } = config.buyerJwt
  const buyers = createBuyerTokens({
    clock,
    ...(jwksUrl !== undefined && { keys: createRemoteKeys({ url: jwksUrl, clock, onFailed }) }),
    ...(config.buyerJwt.secret !== undefined && { secret: config.buyerJwt.secret }),
    ...(config.buyerJwt.issuer !== undefined && { issuer: config.buyerJwt.issuer }),
    ...(config.buyerJwt.audience !== undefined && { audience: config.buyerJwt.audience }),
    ...(config.guestSignIn && { guestSecret: secret('guest-secret') }),
  })
  const kept = config.adminTokens.length > 0 ? undefined : keepSecret(config.dataDir, 'admin-token', random)
  const operators = createOperators(kept === undefined ? config.adminTokens : [{ name: 'admin', token: kept.value }])
  const isEdge = config.roles.includes('edge')
  const sharing = isEdge ? composeSharing(context, redis) : undefined
  const limitsOf = (what: string, rates: typeof config.rates) =>
    sharing === undefined
      ? createRateLimits({ ...rates, clock, random })
      : createSharedRateLimits({ what, ...rates, sharing, secret: secret('rate-keys'), clock, random, meters })
  return {
    isEdge,
    secret,
    tickets,
    buyers,
    operators,
    adminTokenPath: kept?.path,
    sharing,
    orderLimits: limitsOf('orders', config.rates),
    ticketLimits: limitsOf('tickets', { ...config.rates, total: undefined, perItem: undefined }),
  }
}

/** With whom limits are shared; undefined where each process counts for itself. */
function composeSharing({ config, clock, random, log, meters }: ProcessContext, redis: RedisConnection | undefined) {
  if (config.rateSharing === undefined || redis === undefined) return undefined
  const counts = createRedisSharedCounts({ connection: redis, random })
  return new Sharing({ counts, clock, log, meters, edgesAssumed: config.rateSharing.edgesAssumed })
}
