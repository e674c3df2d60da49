/** Times as Alipay writes them: `2026-11-18 20:30:00`, always Beijing's, with or without a fraction of a second. */

const BEIJING_AHEAD_MS = 8 * 3_600_000

/** Whole seconds, rounded down: a time limit never becomes later than it was. */
export function toBeijing(unixMs: number): string {
  return new Date(unixMs + BEIJING_AHEAD_MS).toISOString().slice(0, 19).replace('T', ' ')
}

/** Unix time in milliseconds; undefined when the text is not such a time. */
export function fromBeijing(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/.test(text)) return undefined
  const unixMs = Date.parse(`${text.replace(' ', 'T')}+08:00`)
  return Number.isNaN(unixMs) ? undefined : unixMs
}
