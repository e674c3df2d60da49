/** The last five minutes: requests per second, latency and queue, as curves. */

import type { Sample } from '../../shapes.ts'
import { words } from '../../words.ts'
import { Plot } from '../controls/plot.tsx'

const WINDOW_S = 300

export function Plots({ samples }: { readonly samples: readonly Sample[] }) {
  const text = words()
  return (
    <section class="card plots" aria-labelledby="plots">
      <h2 id="plots" class="unseen">
        {text.requests}, {text.latency}
      </h2>
      <Plot
        title={text.requests}
        points={samples}
        windowS={WINDOW_S}
        curves={[{ label: text.requests, color: '--blue', of: one => one.requestsPerSecond, unit: '/s' }]}
      />
      <Plot
        title={text.latency}
        points={samples}
        windowS={WINDOW_S}
        curves={[
          { label: 'p50', color: '--good', of: one => one.p50Ms, unit: ' ms' },
          { label: 'p99', color: '--accent', of: one => one.p99Ms, unit: ' ms' },
        ]}
      />
      <Plot
        title={text.queueDepth}
        points={samples}
        windowS={WINDOW_S}
        curves={[{ label: text.queue, color: '--blue', of: one => one.line, unit: '' }]}
      />
      <p class="hint">{text.lastMinutes}</p>
    </section>
  )
}
