/**
 * Log lines for a person at a terminal: the time of day, what happened, and the fields in a dimmed `name=value`. They are made from the JSON
 * lines, so what is hidden there is hidden here. Long values are cut, lists and objects counted: the whole of it is in the JSON of a pipe.
 */

import { printable } from '../base/printable.ts'

const VALUE_MAX = 80
/** The time of day and a space. */
const CLOCK_WIDTH = 9
const LEVELS: Readonly<Record<string, readonly [word: string, colour: number]>> = {
  warn: ['warning: ', 33],
  error: ['ERROR: ', 31],
  fatal: ['ERROR: ', 31],
}

/** @param columns how wide the terminal is; then a line that only informs is one row of it: its fields are cut */
export function createTerminalLines(write: (text: string) => void, colours: boolean, columns?: () => number) {
  const paint = (colour: number, text: string) =>
    colours && colour > 0 && text !== '' ? `\x1b[${colour}m${text}\x1b[0m` : text
  return {
    write(line: string): void {
      // The message says to a person what the event is.
      const { level, time, msg, err, event: _, ...fields } = JSON.parse(line) as Record<string, unknown>
      const [word, colour] = LEVELS[String(level)] ?? ['', 0]
      const message = printable(`${word}${msg}${causeOf(err)}`)
      const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shownOf(value)}`)
      const room = word === '' && columns !== undefined ? columns() - CLOCK_WIDTH : Number.POSITIVE_INFINITY
      const said = cutTo(room, message)
      const rest = cutTo(room - said.length, printable(shown.join('')))
      write(`${paint(2, timeOfDay(String(time)))} ${paint(colour, said)}${paint(2, rest)}\n`)
    },
  }
}

const cutTo = (length: number, text: string) =>
  text.length <= length ? text : length < 1 ? '' : `${text.slice(0, length - 1)}…`

/** By the clock on the wall of who reads it. */
function timeOfDay(time: string): string {
  return new Date(time).toTimeString().slice(0, 8)
}

function shownOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? shownOf(value[0]) : `(${value.length})`
  if (typeof value === 'object' && value !== null) return `(${Object.keys(value).length} fields)`
  const text = String(value)
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text
}

function causeOf(error: unknown): string {
  const message = (error as { message?: unknown } | undefined)?.message
  return typeof message === 'string' ? `: ${message.replaceAll(/\s+/g, ' ')}` : ''
}
