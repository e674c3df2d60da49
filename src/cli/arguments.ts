/** Numbers and times on the command line. A value that is none is refused by the name of its option. */

import { ConfigError } from '../app/config/config.ts'
import { toRfc3339 } from '../base/clock.ts'

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

export function wholeNumber(option: string): (text: string) => number {
  return text => {
    if (!/^[+-]?\d{1,15}$/.test(text)) throw new ConfigError(`${option}: "${text}" is not a whole number`)
    return Number(text)
  }
}

/** RFC 3339, `now`, or from now on (`+90s`, `+10m`, `+2h`, `+1d`), by the server's clock. */
export async function parseMoment(option: string, text: string, nowMs: () => Promise<number>): Promise<string> {
  if (text === 'now') return toRfc3339(await nowMs())
  const match = /^\+(\d{1,6})([smhd])$/.exec(text)
  if (match !== null) return toRfc3339((await nowMs()) + Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS])
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || !Number.isFinite(Date.parse(text)))
    throw new ConfigError(
      `${option}: "${text}" is not a time; write 2026-11-11T00:00:00Z, now, or +30s, +10m, +2h, +1d`,
    )
  return text
}

/** What is wrong with an option is said after its name. */
export function orUsage<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ConfigError(`${option}: ${error instanceof Error ? error.message : error}`)
  }
}
