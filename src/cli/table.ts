/**
 * What commands print: tables for people, JSON for programs. Columns line up also where characters are two cells wide, and text from
 * outside can't move the cursor or change colours.
 */

import { printable } from '../base/printable.ts'
import { type Money, toDecimal } from '../domain/money.ts'

interface Column<T> {
  readonly title: string
  readonly of: (row: T) => unknown
  readonly right?: boolean
}

export function print(text: string): Promise<void> {
  return write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Resolves when the text is handed over: a process that ends right after must not cut it off. A reader that left early (`| head`) is no error. */
export function write(text: string): Promise<void> {
  return new Promise(resolve => process.stdout.write(text, () => resolve()))
}

export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value))
}

export function table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const cells = rows.map(row => columns.map(column => show(column.of(row))))
  const widths = columns.map((column, i) =>
    Math.max(widthOf(column.title), ...cells.map(line => widthOf(line[i] as string))),
  )
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => {
        const blank = ' '.repeat((widths[i] as number) - widthOf(text))
        return columns[i]?.right ? blank + text : text + blank
      })
      .join('  ')
      .trimEnd()
  return `${[line(columns.map(column => column.title.toUpperCase())), ...cells.map(line)].join('\n')}\n`
}

/** As times leave the system. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** One thing, a line for each of its fields. */
export function card(fields: readonly (readonly [string, unknown])[]): string {
  const known = fields.filter(([, value]) => value !== undefined && value !== null)
  const width = Math.max(...known.map(([name]) => widthOf(name)))
  return `${known.map(([name, value]) => `${name.padEnd(width)}  ${show(value)}`).join('\n')}\n`
}

export function money(value: Money): string {
  return `${toDecimal(value)} ${value.currency}`
}

const SIZES = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const

export function size(bytes: number): string {
  for (const [unit, factor] of SIZES) if (bytes >= factor) return `${(bytes / factor).toFixed(1)} ${unit}`
  return `${bytes} bytes`
}

function show(value: unknown): string {
  if (value === undefined || value === null) return '-'
  const text = String(value)
  return MOMENT.test(text) ? localTime(Date.parse(text)) : printable(text)
}

/** By the clock and in the zone of whoever reads it, which is said. JSON keeps times as they are. */
function localTime(unixMs: number): string {
  const aheadMin = -new Date(unixMs).getTimezoneOffset()
  const local = new Date(unixMs + aheadMin * 60_000).toISOString().slice(0, 19).replace('T', ' ')
  if (aheadMin === 0) return `${local} UTC`
  const [hours, minutes] = [Math.floor(Math.abs(aheadMin) / 60), Math.abs(aheadMin) % 60]
  return `${local} ${aheadMin < 0 ? '-' : '+'}${`${hours}`.padStart(2, '0')}:${`${minutes}`.padStart(2, '0')}`
}

/** East Asian wide and full-width forms, and emoji, take two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u

function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /\p{Mn}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}
