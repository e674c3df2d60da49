/**
 * Shows the line of one sale until the function that it answers is called: keeps the place up to date, tells the page's button what stands before it, and tells the buyer
 * when something has changed. A script apart, with its own copy of the view library: the page's state is handed over, never imported.
 */

import { render } from 'preact'
import type { InLine } from '../buy/button-state.ts'
import type { Join, Sale } from '../shapes.ts'
import type { Page } from '../views/later-part.tsx'
import { LineCourse } from './line-course.ts'
import { type LineStep, lineStep } from './line-step.ts'
import { LineView, type Shown } from './line-view.tsx'
import { lineWords } from './line-words.ts'
import { TurnSignal } from './turn-signal.ts'
import { spokenTime } from './wait-text.ts'

type SaleLine = NonNullable<Sale['line']>

const TICK_MS = 1_000
const SOON_MS = 2_000
const DRAW_EVERY_MS = 10_000
/** Moves are read out when half of those ahead are gone, and no more from here on. */
const SPOKEN_AHEAD_MIN = 3

/** What was shown before: what is new is read out. */
interface Before {
  readonly step: LineStep
  readonly join: Join | undefined
  readonly returned: number
  readonly refused: string
}

export function showLine(page: Page, saleId: string, place: HTMLElement): () => void {
  const { store, serverNow } = page
  const signal = new TurnSignal()
  const course = new LineCourse(page, saleId, update)
  let timer: ReturnType<typeof setTimeout>
  let before: Before | undefined
  let spokenAhead = Number.POSITIVE_INFINITY
  let told = ''
  let askSaleAtMs = 0

  function update(): void {
    const sale = store.sales.get(saleId)
    if (sale?.line === undefined) return
    const nowMs = serverNow()
    course.follow(sale, nowMs >= Date.parse(sale.line.opensAt))
    const { own } = course
    const join = typeof own === 'object' ? own : undefined
    const step = store.session.kind === 'out' ? 'join' : lineStep(sale.line.opensAt, own, nowMs)
    tellButton(sale, step)
    followDraw(sale.line, join)
    speak({ step, join, returned: course.returned, refused: course.refused })
    const text = lineWords(page.words().locale)
    signal.show(step === 'let_in' && hasNoOrder(sale) ? text.turnTitle : '')
    const shown: Shown = { sale, line: sale.line, step, join, course, page, signal, text, update }
    render(<LineView {...shown} />, place)
    clearTimeout(timer)
    timer = setTimeout(update, nextMs(sale.line, join, nowMs))
  }

  /** What a draw has published is news that only polls of the sale bring. */
  function followDraw({ order, sealsAt = '', root, seed }: SaleLine, join: Join | undefined): void {
    if (order !== 'draw' || seed !== undefined || serverNow() < Date.parse(sealsAt)) return
    const isDue = root === undefined || (join !== undefined && join.place !== null)
    if (performance.now() < askSaleAtMs) return
    askSaleAtMs = performance.now() + (isDue ? SOON_MS : DRAW_EVERY_MS) * (1 + Math.random())
    page.pollNow()
  }

  /** Only a change: the store tells of it, and this runs again. */
  function tellButton(sale: Sale, step: LineStep): void {
    const inLine = step === 'let_in' ? undefined : step === 'loading' ? ({ kind: step } as const) : buttonOf(step)
    const telling = `${JSON.stringify(inLine)} ${typeof (inLine as InLine | undefined)?.press}`
    if (told === telling && store.lines.has(sale.id)) return
    const wasLetIn = step === 'let_in' && !told.startsWith('undefined')
    told = telling
    store.lines.set(sale.id, inLine)
    store.changed()
    // The ticket is fetched while the buyer looks for the button.
    if (wasLetIn) page.pollNow()
  }

  function buttonOf(kind: InLine['kind']): InLine {
    const text = lineWords(page.words().locale)
    const mayPress = (kind === 'join' || kind === 'missed') && !course.joining
    const press = () => {
      signal.unlock()
      void course.join()
    }
    return {
      kind,
      label: course.joining ? text.joining : text.labels[kind],
      note: refusalText() ?? text.notes[kind],
      ...(mayPress && { press }),
    }
  }

  function refusalText(): string | undefined {
    const { coolingNotes, locale } = page.words()
    const { refused } = course
    return refused === ''
      ? undefined
      : (lineWords(locale).refused[refused] ?? coolingNotes[refused] ?? coolingNotes.other)
  }

  function hasNoOrder(sale: Sale): boolean {
    return sale.items.every(item => (store.orderOf(item.id)?.state ?? 'closed') === 'closed')
  }

  /** Rarely: a screen reader is not to read out every step forward. */
  function speak(now: Before): void {
    const last = before
    before = now
    const { join, step } = now
    if (join?.ahead === null || join === undefined || last?.join?.number !== join.number)
      spokenAhead = join?.ahead ?? spokenAhead
    if (last === undefined || last.step === 'loading') return
    const text = lineWords(page.words().locale)
    const count = (value: number) => new Intl.NumberFormat(page.formatLocale()).format(value)
    const aheadText = join?.ahead == null ? '' : `${text.ahead(join.ahead, count(join.ahead))}.`
    if (now.refused !== '' && last.refused === '') page.announce(refusalText() ?? '')
    else if (step === 'let_in' && last.step !== 'let_in') {
      signal.sound()
      const leftMs = Date.parse(join?.claimBy ?? '') - serverNow()
      page.announce(leftMs > 0 ? text.said.turn(spokenTime(leftMs, page.formatLocale())) : `${text.turn}.`)
    } else if (step === 'missed' && last.step === 'let_in') page.announce(`${text.missed}. ${text.missedWhy}`)
    else if (step !== 'in_line') return
    else if (last.step !== 'in_line') page.announce(`${text.labels.in_line}. ${aheadText}`)
    else if (join?.left === 0 && last.join?.left !== 0) page.announce(text.soldOut)
    else if (now.returned > 0 && last.returned === 0)
      page.announce(`${text.cameBack(now.returned, count(now.returned))}. ${aheadText}`)
    else if (join?.place != null && last.join?.place === null) {
      spokenAhead = join.ahead ?? spokenAhead
      page.announce(text.said.drawn(count(join.place)))
    } else if (join?.ahead != null && join.ahead <= spokenAhead / 2 && spokenAhead > SPOKEN_AHEAD_MIN) {
      spokenAhead = join.ahead
      page.announce(aheadText)
    }
  }

  store.hearLine = message => message.sale === saleId && course.hear(message)
  const unsubscribe = store.subscribe(update)
  update()
  return () => {
    unsubscribe()
    clearTimeout(timer)
    course.stop()
    signal.stop()
    store.hearLine = () => {}
    store.lines.delete(saleId)
    render(null, place)
  }
}

/** Until something changes by itself: the next second of a countdown, or the very moment of the opening. */
function nextMs(line: SaleLine, join: Join | undefined, nowMs: number): number {
  const untilMs = Date.parse(nowMs < Date.parse(line.opensAt) ? line.opensAt : (join?.claimBy ?? '')) - nowMs
  const part = untilMs % TICK_MS
  return untilMs > 0 && part > 0 ? part : TICK_MS
}
