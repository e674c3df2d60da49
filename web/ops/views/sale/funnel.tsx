/** From order requests to paid orders, as bars with numbers. */

import { formatCount, formatTime } from '../../format.ts'
import { FUNNEL_STEPS, type Watch } from '../../shapes.ts'
import { words } from '../../words.ts'

export function Funnel({ funnel }: { readonly funnel: Watch['funnel'] }) {
  const text = words()
  const most = Math.max(1, ...FUNNEL_STEPS.map(step => funnel[step]))
  return (
    <section class="card funnel" aria-labelledby="funnel">
      <h2 id="funnel">{text.funnel}</h2>
      <dl>
        {FUNNEL_STEPS.map(step => (
          <div key={step} data-step={step} data-count={funnel[step]}>
            <dt>{text.steps[step]}</dt>
            <dd>
              <span class={`funnel-bar step-${step}`} aria-hidden="true">
                <span style={{ width: `${(funnel[step] / most) * 100}%` }} />
              </span>
              <span class="funnel-count">{formatCount(funnel[step])}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p class="hint">{text.funnelNote(formatTime(funnel.since))}</p>
    </section>
  )
}
