/** Formats money, times and durations in the page's language. */

import { formatMoney as formatIn, type Money } from '../../src/domain/money.ts'
import { serverNow } from './sync/server-time.ts'
import { formatLocale } from './words.ts'

export function formatMoney(money: Money): string {
  return formatIn(money, formatLocale(), true)
}

export function formatCount(count: number): string {
  return new Intl.NumberFormat(formatLocale()).format(count)
}

/** The day too, unless it is today. */
export function formatTime(rfc3339: string): string {
  const at = new Date(rfc3339)
  const today = at.toDateString() === new Date(serverNow()).toDateString()
  return new Intl.DateTimeFormat(formatLocale(), {
    ...(!today && { month: 'short', day: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    ...(today && { second: '2-digit' }),
  }).format(at)
}

interface Parts {
  readonly days: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
}

/** Counts the second under way as a whole one, so zero is reached at the very moment and not one second before. */
export function partsOf(ms: number): Parts {
  const total = Math.max(0, Math.ceil(ms / 1000))
  return {
    days: Math.floor(total / 86_400),
    hours: Math.floor(total / 3600) % 24,
    minutes: Math.floor(total / 60) % 60,
    seconds: total % 60,
  }
}

export const twoDigits = (value: number): string => `${value}`.padStart(2, '0')

/** `14:59`, or `2:14:59`. */
export function formatLeft(ms: number): string {
  const { days, hours, minutes, seconds } = partsOf(ms)
  const wholeHours = days * 24 + hours
  const tail = `${twoDigits(minutes)}:${twoDigits(seconds)}`
  return wholeHours > 0 ? `${wholeHours}:${tail}` : tail
}

/** In the two largest units, for reading out. */
export function spokenLeft(ms: number): string {
  const parts = partsOf(ms)
  const unit = { days: 'day', hours: 'hour', minutes: 'minute', seconds: 'second' } as const
  const names = (Object.keys(unit) as (keyof Parts)[]).filter(name => parts[name] > 0).slice(0, 2)
  return (names.length === 0 ? (['seconds'] as const) : names)
    .map(name =>
      new Intl.NumberFormat(formatLocale(), { style: 'unit', unit: unit[name], unitDisplay: 'long' }).format(
        parts[name],
      ),
    )
    .join(' ')
}
