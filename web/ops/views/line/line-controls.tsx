/** Sets the rate of a line, pauses and resumes it. Every action can be undone by another, so none asks for confirmation. */

import { useEffect, useId, useState } from 'preact/hooks'
import { call } from '../../api.ts'
import { formatFigure } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { wholeWrong } from '../../refusal.ts'
import type { LineWatch } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { lineWords } from '../../words/line.ts'

interface LineControlsProps {
  readonly sale: string
  readonly line: Pick<LineWatch, 'rate' | 'paused'>
  readonly onDone: () => void
}

type Rate = LineWatch['rate']

const STOPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000]
const FIRST_STOP = 10

export function LineControls({ sale, line, onDone }: LineControlsProps) {
  const text = lineWords()
  const id = useId()
  const [typed, setTyped] = useState<Rate>()
  const [working, setWorking] = useState(false)
  // What another operator sets is shown, unless this one is about to set something else.
  useEffect(() => setTyped(undefined), [line.rate])
  const rate = typed ?? line.rate
  const stops = rate === 'auto' || STOPS.includes(rate) ? STOPS : [...STOPS, rate].sort((a, b) => a - b)
  const perSecond = rate === 'auto' ? FIRST_STOP : rate
  const saidOf = (value: Rate) => (value === 'auto' ? text.rateAuto : text.people(formatFigure(value)))

  const act = async (what: 'rate' | 'pause' | 'resume', body: unknown, done: string) => {
    if (working) return
    setWorking(true)
    const reply = await call('POST', `/api/admin/sales/${sale}/line/${what}`, { body })
    setWorking(false)
    if (reply.kind === 'ok') {
      notify('done', done)
      if (what === 'rate') setTyped(undefined)
    } else notify('failed', reply.kind === 'lost' ? text.lost : text.failed(wholeWrong(reply)))
    onDone()
    void readLog()
  }

  return (
    <div class="line-controls">
      <form
        class="line-rate"
        onSubmit={event => {
          event.preventDefault()
          void act('rate', { rate }, text.rateDone(saidOf(rate)))
        }}
      >
        <label class="line-auto">
          <input
            type="checkbox"
            name="auto"
            checked={rate === 'auto'}
            onInput={event => setTyped(event.currentTarget.checked ? 'auto' : FIRST_STOP)}
          />
          <span>{text.auto}</span>
        </label>
        <div class="line-slider">
          <label for={`${id}-rate`}>{text.rate}</label>
          <input
            id={`${id}-rate`}
            name="rate"
            type="range"
            min={0}
            max={stops.length - 1}
            step={1}
            disabled={rate === 'auto'}
            value={stops.indexOf(perSecond)}
            aria-valuetext={saidOf(perSecond)}
            onInput={event => setTyped(stops[Number(event.currentTarget.value)] ?? FIRST_STOP)}
          />
          <output for={`${id}-rate`}>{saidOf(rate)}</output>
        </div>
        <button type="submit" class="button" aria-disabled={working} data-action="line-rate">
          {text.setRate}
        </button>
      </form>
      {line.paused ? (
        <button
          type="button"
          class="button main"
          aria-disabled={working}
          data-action="line-resume"
          onClick={() => void act('resume', undefined, text.resumeDone)}
        >
          {text.resume}
        </button>
      ) : (
        <button
          type="button"
          class="button grave"
          aria-disabled={working}
          data-action="line-pause"
          onClick={() => void act('pause', undefined, text.pauseDone)}
        >
          {text.pause}
        </button>
      )}
    </div>
  )
}
