/**
 * The opening of a sale as an entry for the buyer's own calendar (RFC 5545), with a reminder ten minutes and one minute before. Whatever a sale is called stays text: separators are escaped, lines folded within 75 bytes.
 */

interface Entry {
  readonly id: string
  readonly name: string
  readonly opensAtMs: number
  readonly url: string
}

const LINE_BYTES_MAX = 74
const LASTS_MS = 15 * 60_000
const REMINDED_MIN = [10, 1]

export function calendarEntry({ id, name, opensAtMs, url }: Entry, nowMs: number): string {
  const lines = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Stampede//EN', 'METHOD:PUBLISH', 'BEGIN:VEVENT'],
    `UID:sale-${id}@${new URL(url).hostname}`,
    `DTSTAMP:${moment(nowMs)}`,
    `DTSTART:${moment(opensAtMs)}`,
    `DTEND:${moment(opensAtMs + LASTS_MS)}`,
    `SUMMARY:${escaped(name)}`,
    `URL:${url}`,
    `DESCRIPTION:${escaped(url)}`,
    ...REMINDED_MIN.flatMap(minutes => [
      ...['BEGIN:VALARM', 'ACTION:DISPLAY', `TRIGGER:-PT${minutes}M`, `DESCRIPTION:${escaped(name)}`, 'END:VALARM'],
    ]),
    ...['END:VEVENT', 'END:VCALENDAR'],
  ]
  return lines.map(line => `${folded(line)}\r\n`).join('')
}

const moment = (ms: number) => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '')

const escaped = (text: string) => text.replace(/[\\;,]/g, '\\$&').replace(/[\r\n]+/g, '\\n')

/** A character is never cut in two. */
function folded(line: string): string {
  const encoder = new TextEncoder()
  let [text, bytes] = ['', 0]
  for (const character of line) {
    const size = encoder.encode(character).length
    if (bytes + size > LINE_BYTES_MAX) [text, bytes] = [`${text}\r\n `, 1]
    text += character
    bytes += size
  }
  return text
}
