/** Renders `docs/reference/metrics.md` from the metrics. A test compares the two, so the page can't fall behind. */

import { systemClock } from '../../src/base/clock.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { LATENCY_MS, WAITS_MS } from '../../src/telemetry/plain-metric.ts'
import { alertRules } from '../harness/alert-rules.ts'

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
    '## Alerts',
    '',
    'Made from `deploy/prometheus/stampede.rules.yml`, which Prometheus reads as it is. Each has its entry in the runbook.',
    '',
    '| alert | severity | means | queries |',
    '|---|---|---|---|',
    ...alertRules().map(
      ({ alert, labels, annotations, expr }) =>
        `| [\`${alert}\`](../operating.md#${alert.toLowerCase()}) | ${labels.severity} | ${annotations.summary} | ${metricsIn(expr)} |`,
    ),
    '',
  ].join('\n')
}

function metricsIn(query: string): string {
  return [...new Set(query.match(/\bstampede_\w+|\bstampede:\w+:\w+|\bup\b/g))].map(name => `\`${name}\``).join(', ')
}

function describeLabels(labels: Readonly<Record<string, readonly string[] | string>>): string {
  return Object.entries(labels)
    .map(([label, values]) => {
      const text = typeof values === 'string' ? values : values.map(one => `\`${one}\``).join(', ')
      return `\`${label}\`: ${text}`
    })
    .join('; ')
}
