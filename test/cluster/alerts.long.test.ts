/**
 * Every alert that is shipped, fired for real: Prometheus and Alertmanager watch a small cluster, each thing is broken, the pager hears that
 * it began, and hears that it ended when it is mended. Before that, in a quiet run, the pager hears nothing.
 */

import { afterEach, expect, test } from 'bun:test'
import type { AlertMonitor } from '../harness/alert-monitor.ts'
import { alertRules } from '../harness/alert-rules.ts'
import { dashboardQueries } from '../harness/dashboards.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { WatchedCluster } from './alert-faults.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** No process can see it while it sells: the order of arrival is judged by the tests, with what buyers were told. */
const NEVER_SEEN = ['StampedeOutOfOrder']
/** On a busy machine they are no false alarms: the cluster is as slow as they say, so slow that a reading may be missed. */
const ABOUT_SPEED = [
  'StampedeSlowFast',
  'StampedeSlowSlowly',
  'StampedeRefusalsSlow',
  'StampedeOverloaded',
  'StampedeDown',
  'StampedeNotReconciled',
]
const ABOUT_ANSWERS = ['StampedeBoundReached', 'StampedeFailsFast', 'StampedeFailsSlowly']
/** Queries of the dashboards that have nothing to show here: without Kafka, and before the first genuine callback of a provider. */
const NOTHING_HERE = /stampede_kafka_lag|last_callback/
/** Readings of each process: ten minutes of the rules. */
const QUIET_STEPS = 8

test('each alert begins with its fault and ends when it is mended, and none comes without one', async () => {
  const watched = await WatchedCluster.start(playground)
  const { monitor } = watched
  const begun = (...alerts: string[]) =>
    until(`the pager hears of ${alerts}`, () => alerts.every(one => monitor.heard('firing').includes(one))).catch(() =>
      expect(alerts.filter(one => !monitor.heard('firing').includes(one))).toEqual([]),
    )

  // Quiet: buyers buy, and nothing is broken.
  const scrapes = async () => (await monitor.query('sum(count_over_time(up[1m]))'))[0]?.value ?? 0
  await until('a quiet while', async () => (await scrapes()) >= QUIET_STEPS * 4)
  const fitting = watched.buyersWereSentAway() ? [...ABOUT_SPEED, ...ABOUT_ANSWERS] : ABOUT_SPEED
  const quiet = monitor.heard('firing').filter(alert => !fitting.includes(alert))
  expect(quiet).toEqual([])

  // What disturbs nothing else.
  const order = await watched.buy('gus')
  await watched.poison()
  await watched.publishGarbage()
  await watched.miscount()
  await watched.oversell()
  await watched.guessTokens()
  await watched.forgeCallbacks()
  await watched.failWebhooks()
  await watched.loseProvider()
  await watched.silenceProvider()
  await watched.breakReports()
  watched.askForMadeUpSales()
  watched.stutter()
  await watched.deleteGate()
  await begun('StampedeOrderLost', 'StampedeMessagesUnreadable', 'StampedeStockDiffers', 'StampedeOversold')
  await begun('StampedeTokenGuessing', 'StampedeCallbacksForged', 'StampedeWebhooksFail', 'StampedeCacheMisses')
  await begun('StampedePaymentsUnconfigured', 'StampedeMoneyWrong', 'StampedeProviderSilent', 'StampedeRefundsStuck')
  await begun('StampedeAlarm', 'StampedeOverloaded', 'StampedeRebuildsFail')
  await everyPanelShows(monitor)
  await watched.mend()

  watched.isolate()
  watched.slowGate()
  await begun('StampedeSlowFast', 'StampedeSlowSlowly', 'StampedeRefusalsSlow', 'StampedeNotReady', 'StampedeGateAway')
  await watched.mend()

  await watched.fillRedis()
  await begun('StampedeBoundReached', 'StampedeFailsFast', 'StampedeFailsSlowly')
  await watched.mend()

  watched.freeze('keeper')
  watched.freeze('worker')
  await watched.closeUnseen(order)
  await watched.takeId()
  await begun('StampedeQueueLags', 'StampedeLedgerLags', 'StampedeDown', 'StampedeNotReconciled', 'StampedeEventsWait')
  await begun('StampedeUnitsNotBack')
  await watched.mend()
  await begun('StampedeOrderTwice')

  const all = alertRules().map(({ alert }) => alert)
  expect(monitor.heard('firing')).toEqual(all.filter(alert => !NEVER_SEEN.includes(alert)).toSorted())
  await until('the pager hears of every end', () => monitor.heard('resolved').length === monitor.heard('firing').length)
  await until('no alert is left', async () =>
    (await monitor.firing()).every(alert => [...ABOUT_SPEED, ...ABOUT_ANSWERS].includes(alert)),
  )
  expect(monitor.notices.filter(({ summary }) => summary === '' || /\{\{|no value/.test(summary))).toEqual([])
}, 300_000)

/** Every query of every dashboard is answered with a figure, now that all parts have worked. */
async function everyPanelShows(monitor: Pick<AlertMonitor, 'query'>): Promise<void> {
  const queries = dashboardQueries().filter(query => !NOTHING_HERE.test(query))
  const empty = async () => {
    const answers = await Promise.all(queries.map(query => monitor.query(query)))
    return queries.filter((_, i) => !answers[i]?.some(({ value }) => Number.isFinite(value)))
  }
  await until('every panel has a figure', async () => (await empty()).length === 0).catch(async () =>
    expect(await empty()).toEqual([]),
  )
}
