/** What is known of one shard without asking: its newest status, and which buyers have a reservation there. */

import type { Epoch } from '../../domain/ids.ts'
import type { GateStatus } from '../gate.ts'
import type { BuyerFilter } from './buyer-filter.ts'

export class ShardCache {
  readonly filter: BuyerFilter
  #status: GateStatus | undefined
  /** When the newest answer about it was asked for (monotonic, ms). */
  askedAtMs = Number.NEGATIVE_INFINITY
  /** More has happened here since its status than reservations explain: units may be moving to another shard. */
  unexplained = false

  constructor(filter: BuyerFilter) {
    this.filter = filter
  }

  /** The status that is to be shown, however old. None, once a newer epoch was heard of. */
  get newest(): GateStatus | undefined {
    return this.#status === undefined || this.#status.epoch < this.filter.epoch ? undefined : this.#status
  }

  /** A status of an epoch that is not older than the filter's. */
  seen(status: GateStatus, askedAtMs: number, nowMs: number): void {
    const known = this.#status
    if (known === undefined || known.epoch < status.epoch) {
      this.#status = status
      this.askedAtMs = askedAtMs
      this.unexplained = false
    } else {
      const newer = status.version > known.version || (status.version === known.version && askedAtMs >= this.askedAtMs)
      if (newer) {
        this.#status = status
        this.unexplained = false
      }
      this.askedAtMs = Math.max(this.askedAtMs, askedAtMs)
    }
    this.filter.count(status.version, status.buyers, askedAtMs, nowMs)
  }

  reserved(hashes: readonly number[], epoch: Epoch, version: number, left: number): void {
    this.filter.add(hashes, epoch, version)
    const known = this.#status
    if (known === undefined || known.epoch !== epoch || known.version >= version) return
    this.unexplained ||= version > known.version + (hashes.length > 0 ? 1 : 0)
    // What is not left any more is held; a change of the stock itself shows with the next status.
    this.#status = { ...known, version, left, held: Math.max(0, known.held + known.left - left) }
  }
}
