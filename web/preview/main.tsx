/**
 * A draft as buyers would see it, for operators: the views of the buyer's page around a sale that is read under the operator's session. The page
 * holds no data of its own, so it shows nothing to anyone else. Nothing can be bought: presses and links inside are stopped here, no
 * session of a buyer is opened, and the server gives no tickets for a draft.
 */

import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Sale } from '../buyer/shapes.ts'
import { store } from '../buyer/store.ts'
import { measureServerTime, serverNow } from '../buyer/sync/server-time.ts'
import { useStore } from '../buyer/views/hooks.ts'
import { SaleView } from '../buyer/views/sale-view.tsx'
import { switchLanguage, words } from '../buyer/words.ts'
import { previewWords } from './preview-words.ts'
import { MOMENTS, type Moment, shownAs } from './shown-as.ts'

type Read = Sale | 'loading' | 'signIn' | 'gone' | 'lost'

const id = location.pathname.split('/')[3] ?? ''

async function read(): Promise<Read> {
  try {
    const response = await fetch(`/api/admin/sales/${id}`, { headers: { 'x-stampede-ops': '1' } })
    if (response.ok) return (await response.json()) as Sale
    return response.status === 401 ? 'signIn' : response.status === 404 ? 'gone' : 'lost'
  } catch {
    return 'lost'
  }
}

function Preview() {
  useStore()
  const text = previewWords()
  const [sale, setSale] = useState<Read>('loading')
  const [moment, setMoment] = useState<Moment>('before')
  useEffect(() => void read().then(setSale), [])
  useEffect(() => {
    document.documentElement.lang = words().locale
    document.title = `${text.title} · Stampede`
  }, [text.title])
  const shown = typeof sale === 'object' ? shownAs(sale, moment, serverNow()) : undefined
  return (
    <>
      <header class="preview-bar" data-preview={moment}>
        <span>
          <strong>{text.title}.</strong> {text.note}
        </span>
        {shown !== undefined && (
          <fieldset>
            <legend>{text.shownAs}</legend>
            {MOMENTS.map(one => (
              <label key={one}>
                <input
                  type="radio"
                  name="moment"
                  value={one}
                  checked={one === moment}
                  onChange={() => setMoment(one)}
                />
                {text.as[one]}
              </label>
            ))}
          </fieldset>
        )}
        <a href={`/ops/sales/${id}`}>{text.back}</a>
        <button type="button" aria-label={words().otherLabel} onClick={switchLanguage}>
          {words().other}
        </button>
      </header>
      <main id="main" onClickCapture={stop} onSubmitCapture={stop}>
        {shown === undefined ? (
          <p role="status">{text[sale as Exclude<Read, Sale>]}</p>
        ) : (
          // A view keeps what it has counted down: each moment gets a fresh one.
          <SaleView sale={shown} key={moment} />
        )}
      </main>
    </>
  )
}

function stop(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
}

// A buyer who is signed in sees the button itself.
store.session = { kind: 'in', buyer: '' }
render(<Preview />, document.getElementById('page')!)
void measureServerTime(1)
