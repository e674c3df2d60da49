/** Time left: in large figures until the opening, in one line until the end. Screen readers announce only the last moments. */

import { useEffect } from 'preact/hooks'
import { formatLeft, formatTime, partsOf, spokenLeft, twoDigits } from '../format.ts'
import { words } from '../words.ts'
import { announce, useLeft } from './hooks.ts'

const SPOKEN_AT_S = [60, 30, 10]

export function Countdown({ opensAt }: { readonly opensAt: string }) {
  const leftMs = useLeft(Date.parse(opensAt))
  const seconds = Math.ceil(leftMs / 1000)
  useEffect(() => {
    if (SPOKEN_AT_S.includes(seconds)) announce(words().saidSoon(spokenLeft(leftMs)))
  }, [seconds])
  const parts = partsOf(leftMs)
  const text = words()
  const shown = [
    ...(parts.days > 0 ? [[`${parts.days}`, text.days(parts.days)] as const] : []),
    [twoDigits(parts.hours), text.hours(parts.hours)] as const,
    [twoDigits(parts.minutes), text.minutes] as const,
    [twoDigits(parts.seconds), text.seconds] as const,
  ]
  return (
    <div class={`countdown${seconds <= 10 ? ' countdown-near' : ''}`}>
      <OpensAt opensAt={opensAt} />
      <div class="digits" aria-hidden="true" data-left={seconds}>
        {shown.map(([figures, unit]) => (
          <span class="digit" key={unit}>
            <b>{figures}</b>
            <i>{unit}</i>
          </span>
        ))}
      </div>
      <p class="unseen" role="timer">
        {text.leftUntilOpening(spokenLeft(leftMs))}
      </p>
    </div>
  )
}

/** The planned opening, which a paused sale may miss. */
export function OpensAt({ opensAt }: { readonly opensAt: string }) {
  return <p class="eyebrow">{words().opensAt(formatTime(opensAt))}</p>
}

/** To the end of the sale. */
export function ClosesIn({ untilMs }: { readonly untilMs: number }) {
  const leftMs = useLeft(untilMs)
  const text = words()
  return (
    <p class="closes-in">
      <span aria-hidden="true">
        {text.closesIn} <b>{formatLeft(leftMs)}</b>
      </span>
      <span class="unseen" role="timer">
        {text.leftUntilClosing(spokenLeft(leftMs))}
      </span>
    </p>
  )
}

/** To the end of the time to pay. */
export function TimeLeft({ untilMs }: { readonly untilMs: number }) {
  const leftMs = useLeft(untilMs)
  return (
    <span class={`time-left${leftMs < 60_000 ? ' time-left-near' : ''}`}>
      <span aria-hidden="true">{formatLeft(leftMs)}</span>
      <span class="unseen" role="timer">
        {words().leftToPay(spokenLeft(leftMs))}
      </span>
    </span>
  )
}
