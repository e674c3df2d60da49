/** Operators deny or allow addresses, buyers and claims. */

import { checkAccessValue } from '../../admission/access-lists.ts'
import { toRfc3339 } from '../../base/clock.ts'
import { ACCESS_ENTRIES_MAX, type AccessEntry } from '../../domain/access-entry.ts'
import { listCalls } from '../../wire/lists/list-calls.ts'
import type { AccessAnswer, AccessListAnswer } from '../../wire/lists/list-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { idParam, json, readBody } from '../http/exchange.ts'
import { bodyInvalid, noSuch, notChangeable } from '../http/problem-response.ts'

const handlers = {
  async addAccess({ access, ids, accessFollower }, { request }, by) {
    const { kind, subject, value, until, reason } = await readBody(request, listCalls.addAccess.body.schema)
    const problem = checkAccessValue(subject, value)
    if (problem !== undefined) throw bodyInvalid('value', `"value" ${problem}.`)
    const entry = { id: ids.next(), kind, subject, value, untilMs: until, reason, by }
    const added = await access.add(entry, ACCESS_ENTRIES_MAX)
    if (added === undefined)
      throw notChangeable(
        'lists',
        `There are ${ACCESS_ENTRIES_MAX} entries already: remove one, or write a wider range.`,
      )
    await accessFollower.round()
    return json(wireEntry(added), 201)
  },

  async accessList({ access }) {
    const { entries = [] } = (await access.since(0)) ?? {}
    return json({ lists: entries.map(wireEntry) } satisfies AccessListAnswer)
  },

  async removeAccess({ access, accessFollower }, exchange, by) {
    if (!(await access.remove(idParam(exchange, 'entry'), by))) throw noSuch('entry')
    await accessFollower.round()
    return new Response(null, { status: 204 })
  },
} satisfies Handlers<typeof listCalls>

export const listRoutes = (edge: EdgeContext) => routesOf(edge, listCalls, handlers)

function wireEntry({ untilMs, atMs, reason, ...entry }: AccessEntry): AccessAnswer {
  return {
    ...entry,
    ...(untilMs !== undefined && { until: toRfc3339(untilMs) }),
    ...(reason !== undefined && { reason }),
    at: toRfc3339(atMs),
  }
}
