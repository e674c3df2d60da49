/**
 * On the demo's sales only: starts simulated buyers with one press, and shows their state. Hidden when the demo is off. A script apart, with its own copy of the
 * view library: the page's state is handed over, never imported.
 */

import { render } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Demo } from '../shapes.ts'
import type { Page } from '../views/later-part.tsx'
import { bringCrowd, watchCrowd } from './crowd.ts'
import { crowdWords } from './crowd-words.ts'

interface Props {
  readonly page: Page
  readonly sale: string
  /** Of the page's texts. */
  readonly locale: string
}

export function showCrowd(page: Page, sale: string, place: HTMLElement): () => void {
  // The language may change.
  const update = () => render(<CrowdOffer page={page} sale={sale} locale={page.words().locale} />, place)
  const unsubscribe = page.store.subscribe(update)
  update()
  return () => {
    unsubscribe()
    render(null, place)
  }
}

function CrowdOffer({ page, sale, locale }: Props) {
  const text = crowdWords(locale)
  const noteId = `crowd-${useId()}`
  const asking = useRef(false)
  const before = useRef('')
  const [demo, setDemo] = useState<Demo>()
  // Polls anew after each press: the watch may be in the middle of a long pause.
  const [presses, setPresses] = useState(0)
  useEffect(() => watchCrowd(sale, setDemo), [presses])
  const crowd = demo?.sale === sale ? demo.crowd : 'off'
  const buyers = new Intl.NumberFormat(page.formatLocale()).format(demo?.buyers ?? 0)
  const note = crowd === 'off' ? '' : text.notes[crowd](buyers)
  useEffect(() => {
    if (crowd === 'running' || (crowd === 'done' && before.current === 'running')) page.announce(note)
    before.current = crowd
  }, [crowd])
  if (demo === undefined || crowd === 'off') return null
  const press = async () => {
    if (crowd === 'running' || asking.current) return
    asking.current = true
    const brought = await bringCrowd(page, sale, demo.buyers)
    asking.current = false
    if (brought !== undefined) setDemo(brought)
    setPresses(count => count + 1)
  }
  return (
    <section class="crowd" aria-label={text.title} data-crowd={crowd}>
      <button
        type="button"
        class="plain-button"
        aria-disabled={crowd === 'running'}
        aria-describedby={noteId}
        onClick={press}
      >
        {crowd === 'running' && <span class="spinner" aria-hidden="true" />}
        {text.labels[crowd]}
      </button>
      <p class="note" id={noteId}>
        {note}{' '}
        {crowd !== 'offered' && (
          <a href={`/ops/sales/${sale}`} target="_blank" rel="noopener">
            {text.ops}
          </a>
        )}
      </p>
    </section>
  )
}
