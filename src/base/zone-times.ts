/**
 * Moments as people in a time zone write them: `2026-11-11 08:00:03`. The zone's distance from UTC is asked for once in each quarter of an hour, and
 * not for each moment: clocks change only between them, and a million moments must not hold up other work.
 */

const QUARTER_MS = 900_000
/** Sales last for days: far more than any list has. */
const KNOWN_MAX = 5_000

/** @param zone as in the IANA database; it must exist */
export function createZoneTimes(zone: string): (unixMs: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  })
  const known = new Map<number, number>()

  function distanceMs(quarter: number): number {
    const fromMs = quarter * QUARTER_MS
    const parts = Object.fromEntries(format.formatToParts(fromMs).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - fromMs
  }

  return unixMs => {
    const quarter = Math.floor(unixMs / QUARTER_MS)
    let distance = known.get(quarter)
    if (distance === undefined) {
      if (known.size >= KNOWN_MAX) known.clear()
      distance = distanceMs(quarter)
      known.set(quarter, distance)
    }
    return new Date(unixMs + distance).toISOString().slice(0, 19).replace('T', ' ')
  }
}
