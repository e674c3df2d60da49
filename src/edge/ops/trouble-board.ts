/**
 * What is wrong, and since when. Findings come in rounds, one scope at a time (a sale, the process): a round replaces what the last one
 * of its scope found, and a finding that is found again keeps its beginning. A finding is trouble once it was seen twice and has lasted
 * its grace time. Holds at most what one round of each scope finds.
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
  /** What the check found. */
  readonly words?: string
  /** How long it may last before it is trouble. */
  readonly graceMs?: number
}

export interface Trouble extends Omit<Finding, 'graceMs'> {
  readonly sinceMs: number
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

export class TroubleBoard {
  readonly #clock: Clock
  readonly #scopes = new Map<string, ReadonlyMap<string, Known>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Replaces what the last round of this scope found. */
  see(scope: string, findings: readonly Finding[]): void {
    const before = this.#scopes.get(scope)
    const now = new Map<string, Known>()
    for (const finding of findings) {
      const key = [finding.code, finding.which, finding.sale, finding.item].join('/')
      const first = { sinceMs: this.#clock.now(), fromMs: this.#clock.elapsed(), seen: 0 }
      const known = before?.get(key) ?? first
      now.set(key, { ...known, finding, seen: known.seen + 1 })
    }
    if (now.size === 0) this.#scopes.delete(scope)
    else this.#scopes.set(scope, now)
  }

  /** Worst first, then oldest first. */
  list(): readonly Trouble[] {
    const found: Trouble[] = []
    for (const scope of this.#scopes.values()) {
      for (const { finding, sinceMs, fromMs, seen } of scope.values()) {
        const { graceMs = 0, ...shown } = finding
        if (seen >= SEEN_MIN && this.#clock.elapsed() - fromMs >= graceMs) found.push({ ...shown, sinceMs })
      }
    }
    return found.sort((a, b) => rank(a) - rank(b) || a.sinceMs - b.sinceMs)
  }
}

function rank({ code }: Trouble): number {
  return WORST_FIRST.indexOf(code)
}
