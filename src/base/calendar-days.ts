/** Days of a calendar in a time zone, as spans of unix time. A day has 23, 24 or 25 hours where the clocks change. */

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/
const DAY_MS = 86_400_000
/** No zone is further from UTC. */
const AWAY_MS_MAX = 15 * 3_600_000

/** Does the calendar have this day? */
export function isDay(text: string): boolean {
  const match = DAY.exec(text)
  if (match === null) return false
  const ms = Date.parse(`${text}T00:00:00Z`)
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text)
}

/** As in the IANA database: `UTC`, `Asia/Shanghai`. */
export function isTimeZone(name: string): boolean {
  try {
    return name !== '' && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** From the first to the last day, both included; 0 when the last lies before the first. */
export function daysBetween(from: string, to: string): number {
  return Math.max(0, (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS + 1)
}

/** The day that lies so many days behind this one. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The day of this moment. */
export function dayOf(unixMs: number, zone: string): string {
  return formatOf(zone).format(unixMs)
}

/** The first millisecond of the day. */
export function dayBegins(day: string, zone: string): number {
  const format = formatOf(zone)
  const utcMs = Date.parse(`${day}T00:00:00Z`)
  let [before, reached] = [utcMs - AWAY_MS_MAX, utcMs + AWAY_MS_MAX]
  while (reached - before > 1) {
    const middle = Math.floor((before + reached) / 2)
    if (format.format(middle) >= day) reached = middle
    else before = middle
  }
  return reached
}

/** Writes a day as ISO 8601 does. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
}
