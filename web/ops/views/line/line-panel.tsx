/** The waiting line of a sale, polled once a second: how long, how fast, how it went, and what operators may do with it. */

import { useState } from 'preact/hooks'
import { get } from '../../api.ts'
import { formatCount, formatFigure } from '../../format.ts'
import type { LineWatch } from '../../shapes.ts'
import { mayRun } from '../../store.ts'
import { lineWords } from '../../words/line.ts'
import { useEvery } from '../controls/hooks.ts'
import { Plot } from '../controls/plot.tsx'
import { DrawFacts } from './draw-facts.tsx'
import { LineControls } from './line-controls.tsx'

const POLL_MS = 1_000

/** Nothing while the line is not open, or long over. */
export function LinePanel({ sale }: { readonly sale: string }) {
  const text = lineWords()
  const [line, setLine] = useState<LineWatch>()
  const poll = async (isCurrent: () => boolean) => {
    const reply = await get<LineWatch>(`/api/admin/sales/${sale}/line`)
    if (!isCurrent()) return
    if (reply.kind === 'refused' && reply.status === 404) setLine(undefined)
    if (reply.kind === 'ok') setLine(reply.body)
  }
  useEvery(POLL_MS, sale, poll)
  if (line === undefined) return null
  const figures: readonly (readonly [name: string, label: string, value: string])[] = [
    ['waiting', text.waiting, formatCount(line.waiting)],
    ['letIn', text.letIn, formatCount(line.letIn)],
    ['ordered', text.ordered, formatCount(line.ordered)],
    ['missed', text.missed, formatCount(line.missed)],
    ['perSecond', text.perSecond, formatFigure(line.perSecond)],
  ]
  const waitsForUnits = line.state === 'letting_in' && line.left === 0
  return (
    <section class="card line-panel" aria-labelledby="line-title" data-line={line.state} data-paused={line.paused}>
      <div class="title-row">
        <h2 id="line-title">{text.title}</h2>
        <span class={line.paused ? 'badge badge-paused' : 'badge badge-scheduled'}>
          {line.paused ? text.paused : text.states[line.state]}
        </span>
      </div>
      <dl class="figures">
        {figures.map(([name, label, value]) => (
          <div key={name} data-figure={name}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {waitsForUnits && <p class="refused">{text.soldOut}</p>}
      <p class="hint">{text.missedNote(formatCount(line.claimWithinSeconds))}</p>
      <div class="plots">
        <Plot
          title={text.curve}
          points={line.curve}
          curves={[
            { label: text.joined, color: '--blue', of: point => point.joined, unit: '' },
            { label: text.letIn, color: '--accent', of: point => point.letIn, unit: '' },
            { label: text.ordered, color: '--good', of: point => point.ordered, unit: '' },
          ]}
        />
        <p class="hint">{text.curveNote}</p>
      </div>
      {line.draw !== undefined && <DrawFacts sale={sale} draw={line.draw} onDone={() => void poll(() => true)} />}
      {mayRun() && line.state !== 'over' && (
        <LineControls sale={sale} line={line} onDone={() => void poll(() => true)} />
      )}
    </section>
  )
}
