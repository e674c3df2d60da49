/** Renders `docs/reference/metrics.md` from the metrics. A test compares the two, so the page can't fall behind. */

import { systemClock } from '../../src/base/clock.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { LATENCY_MS, WAITS_MS } from '../../src/telemetry/plain-metric.ts'

export function renderMetricsReference(): string {
  const { list, watch } = createMetrics(systemClock)
  watch({
    units: () => Promise.reject(new Error('the reference page shows no values')),
    itemsOnSale: () => 0,
    queueDepth: () => 0,
    unsettled: () => 0,
    pool: () => ({ total: 0, idle: 0, waiting: 0 }),
    sockets: () => 0,
    ready: () => true,
  })
  return [
    '# Metrics',
    '',
    'Made from `src/base/meters.ts` and `src/telemetry/` by `npm run reference`; a test compares the two.',
    '',
    '`GET /metrics` answers in Prometheus’ text format: with an operator’s token on the main port, and without one on `METRICS_PORT`, if',
    'that is set: on loopback, or where `METRICS_HOST` says. No label ever holds an id, a name or an address. Counters begin at 0 with the process.',
    '',
    '| name | type | labels | meaning |',
    '|---|---|---|---|',
    ...list.map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${describeLabels(labels)} | ${help.replaceAll('|', '\\|')} |`,
    ),
    '',
    `Latency buckets, in milliseconds: ${LATENCY_MS.join(', ')}. Shown in seconds, as Prometheus wants.`,
    `Buckets for waits on other processes (\`stampede_outbox_age_seconds\`, \`stampede_rebuild_seconds\`): ${WAITS_MS.join(', ')}.`,
    '',
    '## Worth an alert',
    '',
    '- `increase(stampede_promises_broken_total[5m]) > 0` or `increase(stampede_alarms_total[5m]) > 0`: an operator should look now.',
    '- `stampede_release_waiting_seconds > 2`: units do not come back in time (promise 3).',
    '- `stampede_outbox_waiting_seconds > 5`: reservations wait for a worker or for the ledger.',
    '- `stampede_events_waiting_seconds > 10`: no process gives events their numbers, and the shop hears nothing.',
    '- `stampede_payments_unconfigured > 0`: payments are open whose provider is not configured any more.',
    '- `stampede_ready == 0` for longer than a restart takes.',
    '- `histogram_quantile(0.99, rate(stampede_event_loop_delay_seconds_bucket[1m])) > 0.05`: the process is overloaded.',
    '- `increase(stampede_payment_callbacks_forged_total[5m]) > 10`: forged callbacks, or a provider’s key was changed.',
    '',
  ].join('\n')
}

function describeLabels(labels: Readonly<Record<string, readonly string[] | string>>): string {
  return Object.entries(labels)
    .map(([label, values]) => {
      const text = typeof values === 'string' ? values : values.map(one => `\`${one}\``).join(', ')
      return `\`${label}\`: ${text}`
    })
    .join('; ')
}
