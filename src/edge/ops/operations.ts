/** The operations page's side of the server, put together: sessions, the watchtower, and the routes that need both. */

import type { Operators } from '../../admission/operator.ts'
import { createRateLimits } from '../../admission/rate-limits.ts'
import type { Random } from '../../base/random.ts'
import type { Route } from '../http/exchange.ts'
import type { Identity } from '../identity.ts'
import type { PageFile } from '../pages.ts'
import { opsRoutes } from '../routes/ops-routes.ts'
import { createMonitor, type Monitor, type MonitorParts } from './monitor.ts'
import { createOperatorSessions, withOperatorSessions } from './operator-sessions.ts'

interface OperationsParts extends MonitorParts {
  readonly operators: Operators
  /** What sessions are signed with: the same at every edge. */
  readonly sessionSecret: string
  readonly random: Random
  readonly secureCookies: boolean
  readonly trusts: (request: Request) => boolean
}

interface Operations {
  readonly monitor: Monitor
  /** The same identity, which also knows operators by their session. */
  identify(identity: Identity): Identity
  routes(parts: {
    readonly page: PageFile
    readonly identity: Identity
    readonly addressOf: (request: Request) => string
  }): readonly Route[]
}

/** Enough for somebody who mistypes, nothing for somebody who guesses. */
const SIGN_INS = { count: 10, windowMs: 60_000 }

export function createOperations(parts: OperationsParts): Operations {
  const { clock, random, operators, trusts, near } = parts
  const monitor = createMonitor(parts)
  const sessions = createOperatorSessions({
    secret: parts.sessionSecret,
    operators,
    clock,
    random,
    trusts,
    secure: parts.secureCookies,
  })
  const none = { perBuyer: undefined, perItem: undefined, total: undefined }
  const limits = createRateLimits({ ...none, perAddress: SIGN_INS, clock, random })
  return {
    monitor,
    identify: identity => withOperatorSessions(identity, sessions),
    routes: ({ page, identity, addressOf }) =>
      opsRoutes({ page, identity, addressOf, operators, sessions, monitor, near, limits }),
  }
}
