/** The feed of events, for shops that ask. */

import { readFeed } from '../../flows/tell/read-feed.ts'
import { toCloudEvent } from '../../wire/events/cloud-event.ts'
import { eventCalls } from '../../wire/events/event-calls.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { readQuery, uncached } from '../http/exchange.ts'
import { answerBy, ProblemError } from '../http/problem-response.ts'

const handlers = {
  async events({ feed, eventSource }, exchange) {
    const { after, types, limit, wait } = readQuery(exchange, eventCalls.events.query)
    const outcome = await readFeed(feed, { after, types, limit, waitMs: wait * 1000 }, exchange.request.signal)
    return answerBy(outcome, {
      page: ({ events, next }) =>
        uncached({ events: events.map(event => toCloudEvent(event, eventSource)), next: String(next) }),
      expired: ({ oldest }) =>
        new ProblemError('cursor_expired', 'Events behind this cursor are no longer kept, or never were here.', {
          oldest: String(oldest - 1),
        }),
    })
  },
} satisfies Handlers<typeof eventCalls>

export const eventRoutes = (edge: EdgeContext) => routesOf(edge, eventCalls, handlers)
