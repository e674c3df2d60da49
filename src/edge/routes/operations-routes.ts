/** For those who run the server: probes and load balancers, Prometheus, and the pay page of the sandbox, which makes its own answers. */

import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { type Route, route, uncached } from '../http/exchange.ts'
import { type Identity, operatorsOnly } from '../identity.ts'

/** Why traffic should go elsewhere; empty when it may come. */
export type Readiness = () => readonly string[]

export function healthRoutes(readiness: Readiness): readonly Route[] {
  return [
    route(operationsCalls.alive, () => uncached({ status: 'alive' })),
    route(operationsCalls.ready, () => {
      const missing = readiness()
      const ready = missing.length === 0
      return uncached({ status: ready ? 'ready' : 'unready', missing }, ready ? 200 : 503)
    }),
  ]
}

interface Rendering {
  readonly contentType: string
  render(): Promise<string>
}

/** The metrics as text, and what it calls itself; in OpenMetrics for those who ask for it, where that shows more. */
export interface Scrape extends Rendering {
  readonly open?: Rendering | undefined
}

/** For operators. On a port of its own it needs no token: see `startMetricsServer`. */
export function metricsRoutes(scrape: Scrape, identity: Pick<Identity, 'operator'>): readonly Route[] {
  const handle = operatorsOnly(identity, operationsCalls.metrics.role, ({ request }) => scrapeResponse(scrape, request))
  return [route(operationsCalls.metrics, handle)]
}

export async function scrapeResponse(scrape: Scrape, request: Request): Promise<Response> {
  const wantsOpen = request.headers.get('accept')?.includes('application/openmetrics-text') === true
  const { render, contentType } = wantsOpen && scrape.open !== undefined ? scrape.open : scrape
  return new Response(await render(), { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
}

export function sandboxRoutes(answer: (request: Request) => Promise<Response>): readonly Route[] {
  const { payPage, approve, decline, hide } = operationsCalls
  return [payPage, approve, decline, hide].map(call => route(call, ({ request }) => answer(request)))
}
