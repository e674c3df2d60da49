/**
 * Rounds in which nothing is to be done cost the same however many items there are. After a round that found every item as the ledger wants it, the next
 * rounds ask only whether that still holds: the ledger shows the same sales (the list keeps its identity while nothing changes), and of the items behind
 * the gate's door a bounded number, in turn, is as it was. A restart, a failover or a `FLUSHALL` takes all items of a server at once, so any of them
 * tells. If one differs, or does not answer, the whole round follows at once.
 *
 * Only where all items are on one server: of several, every round covers each (`gate-health.ts`). Never beyond the end of a sale, and for a bounded
 * time: a plan may change with the clock.
 */

import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate, GateStatus } from '../../gate/gate.ts'
import { acceptsWrites } from './gate-health.ts'
import { shows } from './sync-state.ts'

const ITEMS_A_ROUND = 64
const QUIET_MS_MAX = 30_000

export interface KeptItem {
  readonly sale: Sale
  readonly item: Item
}

interface Quiet {
  readonly followed: readonly Sale[]
  /** By the ledger's clock. */
  readonly untilMs: number
  /** On this process's clock: the ledger's may go back. */
  readonly againAtMs: number
  /** What the gate must show. */
  readonly atGate: readonly KeptItem[]
}

/** It sells the item as the ledger says. Of several shards any may be short of units: these are never left alone. */
export function isAsWanted({ sale, item }: KeptItem, status: GateStatus | undefined): boolean {
  if (status?.epoch !== item.epoch || status.shards !== undefined || status.scattered === true) return false
  return shows(status, sale)
}

export class QuietGates {
  readonly #gate: Pick<Gate, 'status' | 'reserve'>
  readonly #clock: Clock
  #quiet: Quiet | undefined
  #differed = false
  #at = 0

  constructor(gate: Pick<Gate, 'status' | 'reserve'>, clock: Clock) {
    this.#gate = gate
    this.#clock = clock
  }

  /** The next round looks at everything. Says whether it is because an item differed: then what was read of the others before says nothing. */
  end(): boolean {
    const differed = this.#differed
    this.#quiet = undefined
    this.#differed = false
    return differed
  }

  /** @param atGate all items that the gate sells; for every other item there is nothing to do before its sale changes */
  begin(followed: readonly Sale[], atGate: readonly KeptItem[], nowMs: number): void {
    const ends = followed.map(({ closesAtMs }) => closesAtMs).filter(ms => ms > nowMs)
    const untilMs = ends.reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY)
    const againAtMs = this.#clock.elapsed() + QUIET_MS_MAX
    this.#quiet = { followed, untilMs, againAtMs, atGate }
  }

  async lasts(followed: readonly Sale[], nowMs: number): Promise<boolean> {
    const quiet = this.#quiet
    if (quiet?.followed !== followed || nowMs >= quiet.untilMs || this.#clock.elapsed() >= quiet.againAtMs) return false
    const { atGate } = quiet
    if (atGate.length === 0) return true
    const some = atGate.slice(this.#at, this.#at + ITEMS_A_ROUND)
    this.#at = this.#at + ITEMS_A_ROUND < atGate.length ? this.#at + ITEMS_A_ROUND : 0
    const [first] = some
    if (first === undefined) return false
    const reply = await onFault(() => this.#gate.status(some.map(({ item }) => item.id)))
    const byItem = new Map(reply?.items.map(status => [status.item, status]))
    if (!some.every(one => isAsWanted(one, byItem.get(one.item.id)))) {
      this.#differed = reply !== undefined
      return false
    }
    // A gate that is full, or can't write, answers a status and takes nothing.
    return acceptsWrites(this.#gate, first.item.id, first.item.epoch)
  }
}
