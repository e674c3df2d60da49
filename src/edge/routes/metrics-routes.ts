/** What Prometheus reads, for operators. On a port of its own it needs no token: see `startMetricsServer`. */

import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import type { Route } from '../http/exchange.ts'
import { type Identity, routesForOperators } from '../identity.ts'

/** The text, and what it calls itself. */
export interface Scrape {
  readonly contentType: string
  render(): Promise<string>
}

export function metricsRoutes(scrape: Scrape, identity: Pick<Identity, 'operator'>): readonly Route[] {
  return [routesForOperators(identity)(operationsCalls.metrics, () => scrapeResponse(scrape))]
}

export async function scrapeResponse(scrape: Scrape): Promise<Response> {
  return new Response(await scrape.render(), {
    headers: { 'content-type': scrape.contentType, 'cache-control': 'no-store' },
  })
}
