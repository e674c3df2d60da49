/** Formats money, counts, times and durations in the page's language, and parses the times that operators type. */

import { formatMoney as formatIn, type Money } from '../../src/domain/money.ts'
import { serverNow } from './store.ts'
import { words } from './words.ts'

export function formatMoney(money: Money): string {
  return formatIn(money, words().locale, true)
}

export function formatCount(count: number): string {
  return new Intl.NumberFormat(words().locale).format(count)
}

/** One decimal below ten, none above. */
export function formatFigure(value: number): string {
  return new Intl.NumberFormat(words().locale, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)
}

/** With seconds, and with the day unless it is today. */
export function formatTime(rfc3339: string): string {
  const at = new Date(rfc3339)
  const today = at.toDateString() === new Date(serverNow()).toDateString()
  const thisYear = at.getFullYear() === new Date(serverNow()).getFullYear()
  return new Intl.DateTimeFormat(words().locale, {
    ...(!thisYear && { year: 'numeric' }),
    ...(!today && { month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at)
}

/** The two largest units of a span: "4 min 10 s". */
export function formatSpan(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000))
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(total / 86_400), 'day'],
    [Math.floor(total / 3600) % 24, 'hour'],
    [Math.floor(total / 60) % 60, 'minute'],
    [total % 60, 'second'],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2).filter(([value]) => value > 0)
  return shown
    .map(([value, unit]) =>
      new Intl.NumberFormat(words().locale, { style: 'unit', unit, unitDisplay: 'short' }).format(value),
    )
    .join(' ')
}

/** For an input of type datetime-local, in the browser's time zone; seconds are kept. */
export function toLocalInput(ms: number): string {
  const at = new Date(ms)
  const two = (value: number) => `${value}`.padStart(2, '0')
  const day = `${`${at.getFullYear()}`.padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** Undefined while the date is incomplete. */
export function fromLocalInput(text: string): string | undefined {
  const ms = new Date(text).getTime()
  return Number.isFinite(ms) ? new Date(ms).toISOString() : undefined
}
