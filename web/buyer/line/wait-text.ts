/** Times of the line in words. Pure. */

import type { LineWords } from './line-words.ts'

const UNITS = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** `2 minutes 5 seconds`, for reading out. */
export function spokenTime(ms: number, locale: string): string {
  let left = Math.max(0, Math.ceil(ms / 1_000))
  const parts: string[] = []
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(left / seconds)
    left -= count * seconds
    if (count > 0 || (seconds === 1 && parts.length === 0))
      parts.push(new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count))
  }
  return parts.slice(0, 2).join(' ')
}

/** `1:59`. */
export function clockTime(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1_000))
  const two = (value: number) => `${value}`.padStart(2, '0')
  const [hours, minutes, seconds] = [Math.floor(total / 3_600), Math.floor(total / 60) % 60, total % 60]
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}

interface Estimate {
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** A range of minutes, less the time since it was read; never more exact than what is known. */
export function waitText(text: LineWords, estimate: Estimate | null, sinceMs: number): string {
  if (estimate === null) return text.waitUnknown
  const left = (seconds: number) => Math.max(0, seconds - sinceMs / 1_000) / 60
  return text.wait(Math.floor(left(estimate.fromSeconds)), Math.max(1, Math.ceil(left(estimate.toSeconds))))
}
