/** When to ask, and when to ask again. Pure; chance is a parameter. Random, so that pages do not ask at the same moment. */

/** Kept free before the opening, so that a refused ticket can still be requested again. */
const TICKET_MARGIN_MS = 5_000
const BACK_OFF_FIRST_MS = 400
const BACK_OFF_MAX_MS = 8_000

/** A random moment for fetching the ticket: after the warm-up and well before the opening, or at once when there is no such time. */
export function ticketMomentMs(nowMs: number, warmAtMs: number, opensAtMs: number, chance: number): number {
  const fromMs = Math.max(nowMs, warmAtMs)
  const marginMs = Math.min(TICKET_MARGIN_MS, (opensAtMs - fromMs) / 4)
  return fromMs + Math.max(0, opensAtMs - marginMs - fromMs) * chance
}

/** Doubles with each try, up to a bound; between half and all of it, by chance. */
export function backOffMs(tries: number, chance: number): number {
  const full = Math.min(BACK_OFF_MAX_MS, BACK_OFF_FIRST_MS * 2 ** Math.min(tries, 10))
  return full * (0.5 + chance / 2)
}

/** A quarter more or less. */
export function aboutMs(ms: number, chance: number): number {
  return ms * (0.75 + chance / 2)
}
