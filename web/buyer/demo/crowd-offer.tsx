/** On the demo sale only: starts simulated buyers with one press, and shows their state. Hidden when the demo is off. */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { formatCount } from '../format.ts'
import type { Demo, Sale } from '../shapes.ts'
import { announce, usePrevious } from '../views/hooks.ts'
import { words } from '../words.ts'
import { bringCrowd, mayBeDemo, watchCrowd } from './crowd.ts'

export function CrowdOffer({ sale }: { readonly sale: Sale }) {
  return mayBeDemo(sale) ? <Offer sale={sale.id} key={sale.id} /> : null
}

function Offer({ sale }: { readonly sale: string }) {
  const text = words()
  const noteId = useId()
  const asking = useRef(false)
  const [demo, setDemo] = useState<Demo>()
  // Polls anew after each press: the watch may be in the middle of a long pause.
  const [presses, setPresses] = useState(0)
  useEffect(() => watchCrowd(sale, setDemo), [presses])
  const crowd = demo?.sale === sale ? demo.crowd : 'off'
  const before = usePrevious(crowd)
  const buyers = formatCount(demo?.buyers ?? 0)
  const note = crowd === 'off' ? '' : text.crowdNotes[crowd](buyers)
  useEffect(() => {
    if (crowd === 'running' || (crowd === 'done' && before === 'running')) announce(note)
  }, [crowd])
  if (demo === undefined || crowd === 'off') return null
  const press = async () => {
    if (crowd === 'running' || asking.current) return
    asking.current = true
    const brought = await bringCrowd(sale, demo.buyers)
    asking.current = false
    if (brought !== undefined) setDemo(brought)
    setPresses(count => count + 1)
  }
  return (
    <section class="crowd" aria-label={text.crowd} data-crowd={crowd}>
      <button
        type="button"
        class="plain-button"
        aria-disabled={crowd === 'running'}
        aria-describedby={noteId}
        onClick={press}
      >
        {crowd === 'running' && <span class="spinner" aria-hidden="true" />}
        {text.crowdLabels[crowd]}
      </button>
      <p class="note" id={noteId}>
        {note}{' '}
        {crowd !== 'offered' && (
          <a href={`/ops/sales/${sale}`} target="_blank" rel="noopener">
            {text.crowdOps}
          </a>
        )}
      </p>
    </section>
  )
}
