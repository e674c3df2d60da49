/**
 * What is wrong, and since when. Findings come in rounds, one scope at a time (a sale, the process): what a round does not find any more is
 * gone, what it finds again keeps its beginning. Something is called trouble only when it was seen twice and has lasted as long as it takes
 * to be no hiccup. Holds at most what one round of each scope finds.
 */

import type { Clock } from '../../base/clock.ts'
import type { TroubleCode } from '../../wire/monitor-codes.ts'

export interface Finding {
  readonly code: TroubleCode
  /** Tells findings of the same code apart: a promise's number, an alarm's name. */
  readonly which?: string
  readonly sale?: string
  readonly item?: string
  readonly count?: number
  /** The checker's own words. */
  readonly words?: string
  /** How long it may last before it is trouble. */
  readonly patienceMs?: number
}

export interface Trouble extends Omit<Finding, 'patienceMs'> {
  readonly sinceMs: number
}

interface TroubleBoard {
  see(scope: string, findings: readonly Finding[]): void
  /** Worst first, then oldest first. */
  list(): readonly Trouble[]
}

const SEEN_MIN = 2
const WORST_FIRST: readonly TroubleCode[] = [
  'promise_broken',
  'inconsistent',
  'ledger_away',
  'unready',
  'door_shut',
  'clock_skew',
  'withdrawn',
  'unsettled',
  'alarm',
  'refunds_stuck',
]

interface Known {
  readonly finding: Finding
  readonly sinceMs: number
  readonly fromMs: number
  readonly seen: number
}

export function createTroubleBoard(clock: Clock): TroubleBoard {
  const scopes = new Map<string, ReadonlyMap<string, Known>>()
  return {
    see(scope, findings) {
      const before = scopes.get(scope)
      const now = new Map<string, Known>()
      for (const finding of findings) {
        const key = [finding.code, finding.which, finding.sale, finding.item].join('/')
        const known = before?.get(key)
        now.set(key, {
          finding,
          sinceMs: known?.sinceMs ?? clock.now(),
          fromMs: known?.fromMs ?? clock.elapsed(),
          seen: (known?.seen ?? 0) + 1,
        })
      }
      if (now.size === 0) scopes.delete(scope)
      else scopes.set(scope, now)
    },
    list() {
      const found: Trouble[] = []
      for (const known of scopes.values()) {
        for (const { finding, sinceMs, fromMs, seen } of known.values()) {
          const { patienceMs = 0, ...shown } = finding
          if (seen >= SEEN_MIN && clock.elapsed() - fromMs >= patienceMs) found.push({ ...shown, sinceMs })
        }
      }
      return found.sort((a, b) => rank(a) - rank(b) || a.sinceMs - b.sinceMs)
    },
  }
}

function rank({ code }: Trouble): number {
  return WORST_FIRST.indexOf(code)
}
