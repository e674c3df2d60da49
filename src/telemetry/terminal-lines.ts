/**
 * Log lines for a person at a terminal: the time of day, what happened, and the fields in a dimmed `name=value`. They are made from the JSON
 * lines, so what is hidden there is hidden here. Long values are cut, lists and objects counted: the whole of it is in the JSON of a pipe.
 */

import { printable } from '../base/printable.ts'

const VALUE_MAX = 80
const LEVELS: Readonly<Record<string, readonly [word: string, colour: number]>> = {
  warn: ['warning: ', 33],
  error: ['ERROR: ', 31],
  fatal: ['ERROR: ', 31],
}

export function createTerminalLines(write: (text: string) => void, colours: boolean) {
  const paint = (colour: number, text: string) =>
    colours && colour > 0 && text !== '' ? `\x1b[${colour}m${text}\x1b[0m` : text
  return {
    write(line: string): void {
      // The message says to a person what the event is.
      const { level, time, msg, err, event: _, ...fields } = JSON.parse(line) as Record<string, unknown>
      const [word, colour] = LEVELS[String(level)] ?? ['', 0]
      const message = printable(`${word}${msg}${causeOf(err)}`)
      const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shownOf(value)}`)
      write(`${paint(2, timeOfDay(String(time)))} ${paint(colour, message)}${paint(2, printable(shown.join('')))}\n`)
    },
  }
}

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
