/** The feed of events. */

import { z } from 'zod'
import type { EventType } from '../../domain/shop-event.ts'
import { type Call, callsForOperators, json } from '../call.ts'
import { AT, ORDER } from '../calls/examples.ts'
import { pageQuery } from '../inputs.ts'
import { CLOUD_TYPE_PREFIX } from './cloud-event.ts'
import { EVENT_TYPES, schemaOf } from './event-schemas.ts'

const viewers = callsForOperators('Operators', 'viewer')

const PAGE_MAX = 1_000
/** Shorter than the server and most proxies keep a silent connection. */
const FEED_WAIT_S_MAX = 20

const typeNames = EVENT_TYPES.map(type => `${CLOUD_TYPE_PREFIX}${type}`)

const cursor = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,15}|oldest|newest)$/, 'must be a number, oldest or newest')
  .transform(text => (text === 'oldest' || text === 'newest' ? text : Number(text)))

const types = z
  .string()
  .transform(text => text.split(',').map(one => one.trim()))
  .refine(names => names.every(name => typeNames.includes(name)), 'must be types of events, separated by commas')
  .transform(names => new Set(names.map(name => name.slice(CLOUD_TYPE_PREFIX.length) as EventType)))

const feedQuery = z.object({
  after: cursor
    .default('oldest')
    .describe(
      'The cursor: `next` of the answer before. oldest: all that are kept; newest: only what comes from now on.',
    ),
  types: types.optional().describe('Only these types, separated by commas.'),
  limit: pageQuery(100, PAGE_MAX).shape.limit,
  wait: z
    .string()
    .regex(/^[0-9]{1,6}$/, 'must be a whole number of seconds')
    .transform(text => Math.min(Number(text), FEED_WAIT_S_MAX))
    .default(0)
    .meta({ type: 'integer', minimum: 0, maximum: FEED_WAIT_S_MAX, pattern: undefined, default: 0 })
    .describe('How many seconds to wait for an event where there is none.'),
})

const feedAnswer = z.object({
  events: z.array(z.union(EVENT_TYPES.map(type => schemaOf(type)))),
  next: z.string().describe('The cursor for `after`. The same cursor again gives the same events.'),
})

const EXAMPLE = {
  events: [
    {
      specversion: '1.0',
      id: '4711',
      source: 'https://sale.example',
      type: 'stampede.order.placed',
      subject: ORDER.id,
      time: AT,
      datacontenttype: 'application/json',
      data: ORDER,
    },
  ],
  next: '4711',
}

export const eventCalls = {
  events: viewers.get('/api/admin/events', 'What has happened, as CloudEvents, by cursor', {
    more: 'Events come in the order of their ids, each at least once. A cursor from before what is kept answers 410: start again from `oldest`.',
    query: feedQuery,
    answers: { 200: json('The events behind the cursor.', feedAnswer, EXAMPLE) },
    problems: ['cursor_expired'],
  }),
} satisfies Record<string, Call>
