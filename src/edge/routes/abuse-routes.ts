/** Whom the crowd's rules have turned away, for operators. */

import { toRfc3339 } from '../../base/clock.ts'
import { abuseCalls } from '../../wire/abuse/abuse-calls.ts'
import type { AbuseAnswer } from '../../wire/abuse/abuse-shapes.ts'
import { REFUSAL_REASONS } from '../../wire/abuse/refusal-reasons.ts'
import type { Top } from '../abuse/top-list.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { json } from '../http/exchange.ts'

const handlers = {
  async abuse({ refusals, lists, risk }) {
    const { sinceMs, reasons, networks, claims } = await refusals.all()
    const isDenied = (key: string) => lists.ofAddress(addressIn(key)) === 'deny'
    const isDeniedClaim = (key: string) => lists.ofClaims(claimIn(key)) === 'deny'
    return json({
      since: reasons.some(count => count > 0) ? toRfc3339(sinceMs) : null,
      reasons: byReason(reasons),
      networks: networks.map(top => ({ network: top.key, ...wireTop(top, isDenied) })),
      claims: claims.map(top => ({ claim: top.key, ...wireTop(top, isDeniedClaim) })),
      risk: risk === undefined ? 'off' : risk.isResting ? 'resting' : 'asking',
    } satisfies AbuseAnswer)
  },
} satisfies Handlers<typeof abuseCalls>

export const abuseRoutes = (edge: EdgeContext) => routesOf(edge, abuseCalls, handlers)

function wireTop({ key, total, error, reasons }: Top, isDenied: (key: string) => boolean) {
  return { total, atLeast: total - error, reasons: byReason(reasons), denied: isDenied(key) }
}

function byReason(counts: readonly number[]): AbuseAnswer['reasons'] {
  return Object.fromEntries(
    REFUSAL_REASONS.map((reason, at) => [reason, counts[at]!]).filter(([, count]) => count !== 0),
  )
}

/** The first address of a network, as the access list reads addresses. */
function addressIn(network: string): string {
  return network.endsWith('::/48') ? network.replace('::/48', ':0::/64') : network.replace(/\/24$/, '')
}

function claimIn(claim: string): Record<string, string> {
  const equals = claim.indexOf('=')
  return { [claim.slice(0, equals)]: claim.slice(equals + 1) }
}
