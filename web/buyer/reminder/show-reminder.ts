/**
 * Before the opening of a sale: its entry for the buyer's calendar, and a reminder one minute before, by the shop's clock: a notification, a short sound, and the title
 * of the tab. The page must stay open. Of several tabs the first one sounds, and they share one
 * notification. Draws itself, so that it is small; the page's state is handed over, never imported.
 *
 * off → on by a press, and back; on → told one minute before the opening; told → on when the opening is moved. A paused sale is not told of.
 */

import { Chime } from '../chime.ts'
import type { Page } from '../views/later-part.tsx'
import { KeptReminder } from './kept-reminder.ts'
import { askToNotify, mayNotify, notify } from './notice.ts'
import { reminderWords } from './reminder-words.ts'

const BEFORE_MS = 60_000
/** Longer timers end at once. */
const TIMER_MS_MAX = 2_147_483_647

export function showReminder(page: Page, id: string, place: HTMLElement): () => void {
  const kept = new KeptReminder(id)
  const chime = new Chime()
  const ended = new AbortController()
  const [section, heading, ways] = [make('section'), make('h2'), make('div')]
  const [button, calendar, note] = [make('button'), make('a'), make('p')]
  let timer: ReturnType<typeof setTimeout>
  let inTitle = ''

  section.className = 'reminder'
  heading.className = 'unseen'
  heading.id = `reminder-${id}`
  section.setAttribute('aria-labelledby', heading.id)
  ways.className = 'reminder-ways'
  button.type = 'button'
  button.className = calendar.className = 'plain-button'
  calendar.href = `/s/${id}/opening.ics`
  note.className = 'note'
  note.id = `reminder-note-${id}`
  button.setAttribute('aria-describedby', note.id)
  button.onclick = () => void press()
  ways.append(button, calendar)
  section.append(heading, ways, note)
  const unsubscribe = page.store.subscribe(update)
  const { signal } = ended
  window.addEventListener('storage', event => event.key === kept.key && update(), { signal })
  window.addEventListener('pointerup', unlock, { signal })
  window.addEventListener('keyup', unlock, { signal })
  update()
  place.append(section)
  return () => {
    clearTimeout(timer)
    unsubscribe()
    ended.abort()
    chime.close()
    showTitle('')
    section.remove()
    const leftMs = untilOpening()
    if (leftMs !== undefined && leftMs <= 0) kept.set(false)
  }

  function untilOpening(): number | undefined {
    const sale = page.store.sales.get(id)
    return sale && Date.parse(sale.opensAt) - page.serverNow()
  }

  /** Also sets the next timer: never from within one that waited, which a hidden tab would slow down. */
  function update(): void {
    const [sale, leftMs] = [page.store.sales.get(id), untilOpening()]
    clearTimeout(timer)
    if (sale === undefined || leftMs === undefined || leftMs <= 0) return
    const isSoon = leftMs <= BEFORE_MS
    timer = setTimeout(update, Math.min(isSoon ? leftMs : leftMs - BEFORE_MS, TIMER_MS_MAX))
    const text = reminderWords(page.words().locale)
    const isDue = isSoon && kept.isOn && sale.state !== 'paused'
    if (isDue && !kept.isTold(sale.opensAt)) {
      kept.tell(sale.opensAt)
      chime.ring()
      notify(sale.name, text.body, kept.key)
    }
    showTitle(isDue ? `${text.title} · ` : '')
    write(heading, text.heading)
    write(button, text.remind)
    write(calendar, text.calendar)
    button.setAttribute('aria-pressed', String(kept.isOn))
    button.setAttribute('aria-disabled', String(isSoon))
    write(note, noteText(isSoon))
  }

  function noteText(isSoon: boolean): string {
    const text = reminderWords(page.words().locale)
    if (isSoon) return text.soon
    if (!kept.isOn) return text.off
    const how = mayNotify() ? text.on : text.onSoundOnly
    return chime.ready ? how : `${how} ${text.locked}`
  }

  async function press(): Promise<void> {
    const leftMs = untilOpening()
    if (leftMs === undefined || leftMs <= BEFORE_MS) return
    kept.set(!kept.isOn)
    update()
    if (kept.isOn) {
      // Both by the same press, neither waits for the other.
      await Promise.all([unlock(), askToNotify()])
      update()
    }
    if (signal.aborted) return
    page.announce(kept.isOn ? noteText(false) : reminderWords(page.words().locale).gone)
  }

  async function unlock(): Promise<void> {
    if (!kept.isOn || chime.ready) return
    await chime.unlock()
    if (!signal.aborted) update()
  }

  /** Before whatever the page's title is. */
  function showTitle(wanted: string): void {
    const own = document.title.startsWith(inTitle) ? document.title.slice(inTitle.length) : document.title
    inTitle = wanted
    if (document.title !== wanted + own) document.title = wanted + own
  }
}

const make = <Name extends keyof HTMLElementTagNameMap>(name: Name) => document.createElement(name)

/** Only a change: a screen reader may read what is written anew. */
function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}
