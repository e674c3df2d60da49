/** The waiting line on the page: the place, the way through, the estimate, what has happened; the draw and how to check it. */

import type { ComponentChildren } from 'preact'
import type { Join, Sale } from '../shapes.ts'
import type { Page } from '../views/later-part.tsx'
import { DrawCheck } from './draw-check.tsx'
import { LeaveLine } from './leave-line.tsx'
import type { LineCourse } from './line-course.ts'
import type { LineStep } from './line-step.ts'
import type { LineWords } from './line-words.ts'
import type { TurnSignal } from './turn-signal.ts'
import { clockTime, spokenTime, waitText } from './wait-text.ts'

export interface Shown {
  readonly sale: Sale
  readonly line: NonNullable<Sale['line']>
  readonly step: LineStep
  readonly join: Join | undefined
  readonly course: LineCourse
  readonly page: Page
  readonly signal: TurnSignal
  readonly text: LineWords
  readonly update: () => void
}

export function LineView(shown: Shown) {
  const { sale, line, step, text } = shown
  const isOver = sale.state === 'over'
  const isDraw = line.order === 'draw'
  if ((isOver || step === 'loading') && !isDraw) return null
  return (
    <section class="line" aria-label={text.line} data-step={isOver ? 'over' : step}>
      {!isOver && <Now {...shown} />}
      {isDraw && line.commitment !== undefined && <DrawCheck {...shown} />}
    </section>
  )
}

function Now(shown: Shown) {
  const { step, line, text, page } = shown
  const nowMs = page.serverNow()
  if (step === 'line_before') {
    const leftMs = Date.parse(line.opensAt) - nowMs
    return (
      <>
        <Timed leftMs={leftMs} page={page} say={text.opensIn} />
        <DrawNote {...shown} />
      </>
    )
  }
  if (step === 'join')
    return (
      <>
        {line.joined > 0 && <p class="line-joined">{text.joined(countIn(page, line.joined))}</p>}
        <DrawNote {...shown} />
      </>
    )
  if (step === 'in_line') return <Waiting {...shown} />
  if (step === 'let_in') return <Turn {...shown} />
  if (step === 'missed')
    return (
      <>
        <h2 class="line-head">{text.missed}</h2>
        <p class="note">{text.missedWhy}</p>
      </>
    )
  return null
}

/** Before the seal, to those who may still join the draw. */
function DrawNote({ line, text, page }: Shown) {
  const { sealsAt } = line
  if (line.order !== 'draw' || sealsAt === undefined || page.serverNow() >= Date.parse(sealsAt)) return null
  return <p class="note">{text.byDraw(timeIn(page, sealsAt))}</p>
}

function Waiting(shown: Shown) {
  const { join, text, page, signal, course, update } = shown
  if (join === undefined) return null
  return (
    <>
      {join.place === null || join.ahead === null ? (
        <Undrawn {...shown} join={join} />
      ) : (
        <Place {...shown} join={join} />
      )}
      <div class="line-ways">
        <label class="line-sound">
          <input
            type="checkbox"
            checked={signal.sounds}
            onChange={event => {
              signal.setSounds(event.currentTarget.checked)
              update()
            }}
          />
          {text.sound}
        </label>
        <LeaveLine text={text} leave={() => course.leave()} said={() => page.announce(text.said.left)} />
      </div>
    </>
  )
}

function Place({ join, sale, line, text, page, course }: Shown & { readonly join: Join }) {
  const [ahead, place] = [join.ahead ?? 0, join.place ?? 1]
  const gone = place > 1 ? Math.min(1, Math.max(0, 1 - ahead / (place - 1))) : 1
  const isSoldOut = join.left === 0
  const isEarly = page.serverNow() < Date.parse(sale.opensAt)
  const head = text.ahead(ahead, countIn(page, ahead))
  const when = isEarly
    ? text.startsAt(timeIn(page, sale.opensAt))
    : line.paused === true
      ? text.paused
      : waitText(text, join.estimate, performance.now() - course.readAtMs)
  return (
    <>
      <h2 class="line-head">{head}</h2>
      <meter class="unseen" aria-label={text.progress} aria-valuetext={head} max={1} value={gone} />
      <div class="bar" aria-hidden="true">
        <span style={{ transform: `scaleX(${gone})` }} />
      </div>
      <p class="line-facts">
        <span>{text.place(countIn(page, place))}</span>
        {!isSoldOut && <span data-estimate>{when}</span>}
      </p>
      {isSoldOut && <p class="line-news">{text.soldOut}</p>}
      {course.returned > 0 && <p class="line-news">{text.cameBack(course.returned, countIn(page, course.returned))}</p>}
    </>
  )
}

/** In a draw that is still to come. */
function Undrawn({ join, line, text, page }: Shown & { readonly join: Join }) {
  const { beacon, sealsAt = '', root } = line
  const isSealed = root !== undefined || page.serverNow() >= Date.parse(sealsAt)
  const source = beacon && (beacon.round === undefined ? beacon.source : `${beacon.source} ${beacon.round}`)
  return (
    <>
      <h2 class="line-head">{text.number(countIn(page, join.number))}</h2>
      <p class="note">
        {!isSealed
          ? text.unsealed(timeIn(page, sealsAt))
          : `${text.sealed} ${source === undefined ? text.drawing : text.beacon(source)}`}
      </p>
    </>
  )
}

function Turn({ join, text, page }: Shown) {
  const leftMs = Date.parse(join?.claimBy ?? '') - page.serverNow()
  return (
    <>
      <h2 class="line-head line-turn">{text.turn}</h2>
      {leftMs > 0 && <Timed leftMs={leftMs} page={page} say={text.turnLeft} isUrgent />}
    </>
  )
}

interface TimedProps {
  readonly leftMs: number
  readonly page: Page
  readonly say: (left: string) => string
  /** Time is running out. */
  readonly isUrgent?: boolean
  readonly children?: ComponentChildren
}

/** In figures for the eye, in words for the ear. */
function Timed({ leftMs, page, say, isUrgent = false }: TimedProps) {
  return (
    <p class={`line-clock${isUrgent && leftMs < 30_000 ? ' line-clock-near' : ''}`}>
      <span aria-hidden="true">{say(clockTime(leftMs))}</span>
      <span class="unseen" role="timer">
        {say(spokenTime(leftMs, page.formatLocale()))}
      </span>
    </p>
  )
}

const countIn = (page: Page, count: number) => new Intl.NumberFormat(page.formatLocale()).format(count)

function timeIn(page: Page, rfc3339: string): string {
  const at = new Date(rfc3339)
  const isToday = at.toDateString() === new Date(page.serverNow()).toDateString()
  return new Intl.DateTimeFormat(page.formatLocale(), {
    ...(!isToday && { month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    ...(at.getSeconds() > 0 && { second: '2-digit' }),
  }).format(at)
}
