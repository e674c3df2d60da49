/** For whoever watches over the process: is it alive, may it take traffic? */

import { json, type Route } from '../exchange.ts'

/** Why traffic should go elsewhere; empty when it may come. */
export type Readiness = () => readonly string[]

export function healthRoutes(readiness: Readiness): readonly Route[] {
  return [
    { method: 'GET', path: '/livez', handle: () => json({ status: 'alive' }, 200, { 'cache-control': 'no-store' }) },
    {
      method: 'GET',
      path: '/readyz',
      handle: () => {
        const missing = readiness()
        const ready = missing.length === 0
        return json({ status: ready ? 'ready' : 'unready', missing }, ready ? 200 : 503, {
          'cache-control': 'no-store',
        })
      },
    },
  ]
}
