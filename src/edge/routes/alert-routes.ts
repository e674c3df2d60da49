/** Alerts, for operators: how the channels are, and a test. */

import { toRfc3339 } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import { alertCalls } from '../../wire/alerts/alert-calls.ts'
import type { AlertsAnswer, AlertTestAnswer } from '../../wire/alerts/alert-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { json } from '../http/exchange.ts'

const at = (ms: number | undefined) => (ms === undefined ? null : toRfc3339(ms))

const handlers = {
  async alerts({ alerts }) {
    const channels = (await alerts.states()).map(({ channel, state }) => ({
      channel,
      waiting: state?.waiting ?? 0,
      toldAt: at(state?.toldAtMs),
      failingSince: at(state?.failingSinceMs),
      problem: state?.problem ?? null,
    }))
    return json({ channels } satisfies AlertsAnswer)
  },

  async testAlerts({ alerts, journal, log }, _exchange, by) {
    const tried = await alerts.test()
    const channels = tried.map(({ channel, told, tookMs }) => ({
      channel,
      told: told.kind === 'told',
      problem: (told.kind === 'told' ? told.but : told.why) ?? null,
      tookMs,
    }))
    // A test is most wanted when the ledger is away: then it has no line in the log.
    const details = { told: channels.filter(({ told }) => told).length, of: channels.length }
    await onFault(
      () => journal.write({ by, action: 'alerts.test', details }),
      error =>
        log.warn({ event: 'alert_test_unwritten', operator: by, err: error }, 'test of alerts not written to the log'),
    )
    return json({ channels } satisfies AlertTestAnswer)
  },
} satisfies Handlers<typeof alertCalls>

export const alertRoutes = (edge: EdgeContext) => routesOf(edge, alertCalls, handlers)
