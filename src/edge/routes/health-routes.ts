/** For probes and load balancers: is the process alive, may it take traffic? */

import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { json, type Route, route } from '../http/exchange.ts'

/** Why traffic should go elsewhere; empty when it may come. */
export type Readiness = () => readonly string[]

export function healthRoutes(readiness: Readiness): readonly Route[] {
  const uncached = { 'cache-control': 'no-store' }
  return [
    route(operationsCalls.alive, () => json({ status: 'alive' }, 200, uncached)),
    route(operationsCalls.ready, () => {
      const missing = readiness()
      const ready = missing.length === 0
      return json({ status: ready ? 'ready' : 'unready', missing }, ready ? 200 : 503, uncached)
    }),
  ]
}
