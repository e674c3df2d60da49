/** Operators and the last decisions of this process. */

import { toRfc3339 } from '../../base/clock.ts'
import { type FlightAnswer, flightCalls } from '../../wire/flight/flight-calls.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { json, readQuery } from '../http/exchange.ts'

const handlers = {
  async flight({ flight, node }, exchange) {
    const { limit } = readQuery(exchange, flightCalls.flight.query)
    const decisions = flight.last(limit).map(({ atMs, what, about, order, count }) => ({
      at: toRfc3339(atMs),
      what,
      ...(about !== '' && { about }),
      ...(order !== '' && { order }),
      ...(count > 1 && { count }),
    }))
    return json({ node: node.node(), noted: flight.noted(), decisions } satisfies FlightAnswer)
  },
} satisfies Handlers<typeof flightCalls>

export const flightRoutes = (edge: EdgeContext) => routesOf(edge, flightCalls, handlers)
