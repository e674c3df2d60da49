/**
 * The alerts as Prometheus itself judges them, by `promtool test rules`: each is given figures that must raise it and figures close by that
 * must not, and no other alert may come with it. Real faults are in `test/cluster/alerts.long.test.ts`.
 */

import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alertRules, PROMTOOL, RULES } from '../harness/alert-rules.ts'
import { readYaml } from '../harness/yaml.ts'
import { DEPLOY, ROOT } from './shipped.ts'

/** Series in promtool's words: `0+1x60` begins at 0 and grows by 1 every 15 s, 60 times. */
type Series = Readonly<Record<string, string>>

const ORDERS = 'method="POST",route="/api/sales/{sale}/items/{item}/orders"'
const ANSWERS = `stampede_http_requests_total{${ORDERS},status="2xx"}`
const ERRORS = `stampede_http_requests_total{${ORDERS},status="5xx"}`
const FAST = `stampede_http_request_seconds_bucket{${ORDERS},status="2xx",le="0.1"}`
const ALL = `stampede_http_request_seconds_count{${ORDERS},status="2xx"}`
const refused = (le: string) => `stampede_http_request_seconds_bucket{${ORDERS},status="4xx",le="${le}"}`
const late = (le: string) => `stampede_event_loop_delay_seconds_bucket{instance="a",le="${le}"}`
const promise = (number: number) => `stampede_promises_broken_total{promise="${number}"}`
const alarm = (kind: string) => `stampede_alarms_total{kind="${kind}"}`
const memory = 'stampede_catalog_reads_total{layer="memory",answer="hit"}'
const ledger = 'stampede_catalog_reads_total{layer="ledger",answer="hit"}'
const token = 'stampede_operator_tokens_total{outcome="limited"}'
const rebuild = 'stampede_rebuilds_total{step="failed"}'
const difference = 'stampede_reconciliation_total{kind="difference"}'

/** At the tenth minute: one more since the ninth. */
const ONCE = '0x36 1x10'
/** A count that is there when the process is read for the first time, a minute before. */
const FROM_THE_START = '_x36 1x10'
const STARTED = { stampede_process_start_time_seconds: '_x36 540x10' }
/** Once, more than five minutes before. */
const LONG_AGO = '0x4 1x60'
const on = (value: number) => `${value}x60`
const rate = (perStep: number) => `0+${perStep}x60`

/** What raises the alert at the tenth minute, and what is nearly the same and does not. */
const CASES: Readonly<Record<string, readonly [fires: readonly Series[], quiet: readonly Series[]]>> = {
  StampedeOversold: [
    [{ [promise(1)]: ONCE }, { ...STARTED, [promise(1)]: FROM_THE_START }],
    [
      { [promise(1)]: LONG_AGO },
      { [promise(1)]: on(0) },
      // Out of reach for a while, with a count from long ago.
      { [promise(1)]: '1x10 _x20 1x40', stampede_process_start_time_seconds: '0x10 _x20 0x40' },
    ],
  ],
  StampedeOrderLost: [
    [
      { [promise(2)]: ONCE },
      { [alarm('refused_acknowledged')]: ONCE },
      { ...STARTED, [alarm('dead_letter')]: FROM_THE_START },
      { ...STARTED, [promise(2)]: FROM_THE_START },
    ],
    [{ [alarm('dead_letter')]: LONG_AGO }],
  ],
  StampedeUnitsNotBack: [
    [{ stampede_release_waiting_seconds: on(2.1) }, { [promise(3)]: ONCE }],
    [{ stampede_release_waiting_seconds: on(2) }],
  ],
  StampedeOrderTwice: [[{ [promise(4)]: ONCE }, { [alarm('foreign_order_id')]: ONCE }], [{ [promise(4)]: on(1) }]],
  StampedeOutOfOrder: [
    [{ [promise(5)]: ONCE }, { ...STARTED, [promise(5)]: FROM_THE_START }],
    [{ [promise(5)]: on(0) }],
  ],
  StampedeMoneyWrong: [
    [
      { [promise(6)]: ONCE },
      ...['wrong_amount', 'unknown_payment', 'refund_impossible', 'payment_disputed'].map(kind => ({
        [alarm(kind)]: ONCE,
      })),
    ],
    [{ [alarm('wrong_amount')]: LONG_AGO }],
  ],
  StampedeRefusalsSlow: [
    [{ [refused('0.1')]: rate(98), [refused('0.25')]: rate(100), [refused('+Inf')]: rate(100) }],
    [{ [refused('0.1')]: rate(100), [refused('0.25')]: rate(100), [refused('+Inf')]: rate(100) }],
  ],
  StampedeBoundReached: [
    [
      {
        'stampede_order_asks_total{outcome="busy"}': rate(2),
        'stampede_order_asks_total{outcome="placed"}': rate(98),
      },
    ],
    [
      {
        'stampede_order_asks_total{outcome="busy"}': rate(1),
        'stampede_order_asks_total{outcome="placed"}': rate(99),
      },
    ],
  ],
  StampedeFailsFast: [
    // Within the last five minutes, and long ago alone: the first pages, the second does not any more.
    [{ [ANSWERS]: rate(1000), [ERRORS]: '0x20 0+100x40' }],
    [
      { [ANSWERS]: rate(1000), [ERRORS]: rate(5) },
      // A rush: most clicks are hopeless, and are answered so.
      { [ANSWERS]: rate(1000), [ERRORS]: rate(500), 'stampede_order_asks_total{outcome="crowded"}': rate(497) },
    ],
  ],
  StampedeFailsSlowly: [[{ [ANSWERS]: rate(1000), [ERRORS]: rate(8) }], [{ [ANSWERS]: rate(1000), [ERRORS]: rate(5) }]],
  StampedeSlowFast: [[{ [ALL]: rate(100), [FAST]: rate(80) }], [{ [ALL]: rate(100), [FAST]: rate(95) }]],
  StampedeSlowSlowly: [[{ [ALL]: rate(100), [FAST]: rate(90) }], [{ [ALL]: rate(100), [FAST]: rate(95) }]],
  StampedeCacheMisses: [
    [{ [memory]: rate(100_000), [ledger]: rate(400) }],
    // Beyond 99.9%; and below it, of reads so few that they are no load.
    [
      { [memory]: rate(1_000_000), [ledger]: rate(400) },
      { [memory]: rate(100), [ledger]: rate(50) },
    ],
  ],
  StampedeQueueLags: [
    [{ stampede_outbox_waiting_seconds: on(1.1) }, { stampede_kafka_lag_seconds: on(2) }],
    [{ stampede_outbox_waiting_seconds: on(1) }, { stampede_outbox_waiting_seconds: '0x38 3x2' }],
  ],
  StampedeLedgerLags: [
    [{ stampede_outbox_waiting_seconds: '0x39 5.1x2' }, { stampede_kafka_lag_seconds: '0x39 6x2' }],
    [{ stampede_outbox_waiting_seconds: '0x39 5x2' }],
  ],
  StampedeStockDiffers: [
    [{ [difference]: ONCE }, { ...STARTED, [difference]: FROM_THE_START }],
    [{ [difference]: LONG_AGO }, { 'stampede_reconciliation_total{kind="repair"}': ONCE }],
  ],
  StampedeNotReconciled: [
    [{ stampede_reconciled_timestamp_seconds: '0+15x20 300x40' }, { stampede_reconciled_timestamp_seconds: '_x60' }],
    [{ stampede_reconciled_timestamp_seconds: '0+15x30 450x40' }],
  ],
  StampedeDown: [
    [{ 'up{job="stampede",instance="a"}': '1x20 0x40' }],
    [{ 'up{job="stampede",instance="a"}': '1x37 0x40' }, { 'up{job="other",instance="a"}': on(0) }],
  ],
  StampedeNotReady: [[{ stampede_ready: '1x20 0x40' }], [{ stampede_ready: '1x37 0x40' }]],
  StampedeOverloaded: [
    [{ [late('0.05')]: rate(95), [late('0.1')]: rate(100), [late('+Inf')]: rate(100) }],
    [{ [late('0.05')]: rate(100), [late('0.1')]: rate(100), [late('+Inf')]: rate(100) }],
  ],
  StampedeAlarm: [
    [{ [alarm('door_shut')]: ONCE }, { ...STARTED, [alarm('watching_failed')]: FROM_THE_START }],
    [{ [alarm('door_shut')]: LONG_AGO }],
  ],
  StampedeGateAway: [[{ stampede_outbox_items_away: on(1) }], [{ stampede_outbox_items_away: '0x39 1x2' }]],
  StampedeRebuildsFail: [[{ [rebuild]: '0x36 2x20' }], [{ [rebuild]: ONCE }]],
  StampedeMessagesUnreadable: [
    [{ 'stampede_messages_lost_total{why="unreadable"}': ONCE }],
    [{ 'stampede_messages_lost_total{why="gap"}': ONCE }],
  ],
  StampedeEventsWait: [[{ stampede_events_waiting_seconds: on(6) }], [{ stampede_events_waiting_seconds: on(5) }]],
  StampedeWebhooksFail: [
    [
      {
        'stampede_webhook_tries_total{outcome="failed"}': rate(6),
        'stampede_webhook_tries_total{outcome="delivered"}': rate(4),
      },
      { 'stampede_webhook_deliveries_lost_total{why="given_up"}': '0x30 1x20' },
    ],
    [
      {
        'stampede_webhook_tries_total{outcome="failed"}': rate(4),
        'stampede_webhook_tries_total{outcome="delivered"}': rate(6),
      },
    ],
  ],
  StampedeTokenGuessing: [[{ [token]: ONCE }], [{ [token]: LONG_AGO }]],
  StampedeProviderSilent: [
    [{ 'stampede_payment_provider_silent{provider="stripe"}': '0x20 1x40' }],
    [{ 'stampede_payment_provider_silent{provider="stripe"}': '0x38 1x40' }],
  ],
  StampedeRefundsStuck: [
    [{ 'stampede_payment_provider_refunds_stuck{provider="stripe"}': on(1) }],
    [{ 'stampede_payment_provider_refunds_stuck{provider="stripe"}': '0x30 1x40' }],
  ],
  StampedePaymentsUnconfigured: [
    [{ stampede_payments_unconfigured: on(1) }],
    [{ stampede_payments_unconfigured: '0x38 1x40' }],
  ],
  StampedeCallbacksForged: [
    [{ stampede_payment_callbacks_forged_total: rate(1) }],
    [{ stampede_payment_callbacks_forged_total: '0x36 5x10' }],
  ],
}

/** What comes with it by itself: a lag of five seconds is one of one second, one of fourteen budgets is one of six. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  StampedeFailsFast: ['StampedeFailsSlowly'],
  StampedeSlowFast: ['StampedeSlowSlowly'],
}

/** A cluster that is reconciled all the time, unless the case says otherwise. */
const BASE: Series = { stampede_reconciled_timestamp_seconds: '0+15x60' }

function judged(series: Series, firing: readonly string[]) {
  return {
    interval: '15s',
    input_series: Object.entries({ ...BASE, ...series }).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '10m',
        exp_samples: firing.toSorted().map(alertname => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  }
}

interface Scraping {
  readonly scrape_configs: readonly {
    readonly dns_sd_configs: readonly [{ readonly names: readonly string[]; readonly port: number }]
  }[]
}

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, string>> }>>
}

test('every alert has its cases, its severity, plain words and an entry in the runbook', () => {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  const rules = alertRules()
  expect(rules.map(rule => rule.alert).toSorted()).toEqual(Object.keys(CASES).toSorted())
  for (const { alert, labels, annotations } of rules) {
    expect(['page', 'ticket'], alert).toContain(labels.severity ?? '')
    expect(annotations.summary, alert).toMatch(/^.{20,160}\.$/)
    // As GitHub makes an address out of a heading.
    expect(annotations.runbook).toBe(`docs/operating.md#${alert.toLowerCase()}`)
    expect(page.includes(`\n### \`${alert}\`\n`), `${alert} has no entry in docs/operating.md`).toBe(true)
  }
})

test('the rules ask for no metric that is not there', () => {
  const known = readFileSync(join(ROOT, 'docs/reference/metrics.md'), 'utf8')
  const asked = new Set(readFileSync(RULES, 'utf8').match(/\bstampede_\w+/g))
  const isKnown = (name: string) => known.includes(`| \`${name.replace(/_(bucket|count|sum)$/, '')}\` | `)
  expect(asked.size).toBeGreaterThan(20)
  expect([...asked].filter(name => !isKnown(name))).toEqual([])
})

test('promtool: each alert is raised by its own figures, alone, and not by figures close to them', () => {
  const tests = Object.entries(CASES).flatMap(([alert, [fires, quiet]]) => [
    ...fires.map(series => judged(series, [alert, ...(ALSO[alert] ?? [])])),
    ...quiet.map(series => judged(series, [])),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'stampede-rules-'))
  try {
    const file = join(folder, 'cases.json')
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
    const { status, stdout, stderr } = spawnSync(PROMTOOL, ['test', 'rules', file], { encoding: 'utf8' })
    expect(`${stdout}${stderr}`.trim()).toEndWith('SUCCESS')
    expect(status).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the configuration that is shipped is one that Prometheus reads', () => {
  const { status, stderr } = spawnSync(PROMTOOL, ['check', 'config', join(DEPLOY, 'prometheus/prometheus.yml')], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const [{ scrape_configs: scraped }] = readYaml(join(DEPLOY, 'prometheus/prometheus.yml')) as [Scraping]
  const [{ services }] = readYaml(join(DEPLOY, 'compose/compose.yaml')) as [Compose]
  const processes = Object.entries(services).filter(([, service]) => service.environment?.ROLES !== undefined)
  const [{ names, port }] = scraped[0]!.dns_sd_configs
  expect(names.toSorted()).toEqual(processes.map(([name]) => name).toSorted())
  for (const [, service] of processes) expect(service.environment?.METRICS_PORT).toBe(String(port))
})
