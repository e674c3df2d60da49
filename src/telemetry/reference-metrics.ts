/** `docs/reference/metrics.md`, made from the metrics themselves. A test compares the two, so the page can't fall behind. */

import { systemClock } from '../base/clock.ts'
import { createMetrics } from './metrics.ts'
import { LATENCY_MS, WAITS_MS } from './plain-metric.ts'

const NONE = { total: 0, idle: 0, waiting: 0 }

export function renderMetricsReference(): string {
  const { list } = createMetrics(
    {
      units: () => Promise.reject(new Error('nobody reads values here')),
      itemsOnSale: () => 0,
      queueDepth: () => 0,
      unsettled: () => 0,
      pool: () => NONE,
      sockets: () => 0,
      ready: () => true,
    },
    systemClock,
  )
  return [
    '# Metrics',
    '',
    'Made from the code by `src/telemetry/reference-metrics.ts`; a test compares the two.',
    '',
    '`GET /metrics` shows them in Prometheus’ text format: with an operator’s token on the main port, and openly on a port of its own when',
    '`METRICS_PORT` is set. No label ever holds an id, a name or an address. Counters begin at 0 with the process.',
    '',
    '| name | type | labels | what it says |',
    '|---|---|---|---|',
    ...list.map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${describeLabels(labels)} | ${help.replaceAll('|', '\\|')} |`,
    ),
    '',
    `Latency buckets, in milliseconds: ${LATENCY_MS.join(', ')}. Shown in seconds, as Prometheus wants.`,
    `What waits for other processes (\`stampede_outbox_age_seconds\`, \`stampede_rebuild_seconds\`): ${WAITS_MS.join(', ')}.`,
    '',
    '## Worth an alert',
    '',
    '- `increase(stampede_promises_broken_total[5m]) > 0` or `increase(stampede_alarms_total[5m]) > 0`: somebody should look now.',
    '- `stampede_release_waiting_seconds > 2`: pieces do not come back in time (promise 3).',
    '- `stampede_outbox_waiting_seconds > 5`: orders wait for a worker or for the ledger.',
    '- `stampede_ready == 0` for longer than a restart takes.',
    '- `histogram_quantile(0.99, rate(stampede_event_loop_delay_seconds_bucket[1m])) > 0.05`: the process is overloaded.',
    '- `increase(stampede_payment_callbacks_forged_total[5m]) > 10`: somebody tries, or a provider’s key was changed.',
    '',
  ].join('\n')
}

function describeLabels(labels: Readonly<Record<string, readonly string[] | string>>): string {
  return Object.entries(labels)
    .map(([label, values]) =>
      typeof values === 'string'
        ? `\`${label}\`: ${values}`
        : `\`${label}\`: ${values.map(one => `\`${one}\``).join(', ')}`,
    )
    .join('; ')
}
