/** One place as it is known without asking: its newest look, and who has a reservation there. */

import type { Epoch } from '../../domain/ids.ts'
import type { GateStatus } from '../gate.ts'
import type { BuyerFilter } from './buyer-filter.ts'

export class ShardCache {
  readonly filter: BuyerFilter
  look: GateStatus | undefined
  /** When the newest answer about it was asked for (monotonic, ms). */
  askedAtMs = Number.NEGATIVE_INFINITY
  /** More has happened here since it was looked at than reservations: units may be on their way to another place. */
  unexplained = false

  constructor(filter: BuyerFilter) {
    this.filter = filter
  }

  /** The look that is to be shown, however old. None, once a newer epoch was heard of. */
  get newest(): GateStatus | undefined {
    return this.look === undefined || this.look.epoch < this.filter.epoch ? undefined : this.look
  }

  /** A look of an epoch that is not older than the filter's. */
  seen(look: GateStatus, askedAtMs: number, nowMs: number): void {
    const known = this.look
    if (known === undefined || known.epoch < look.epoch) {
      this.look = look
      this.askedAtMs = askedAtMs
      this.unexplained = false
    } else {
      const newer = look.version > known.version || (look.version === known.version && askedAtMs >= this.askedAtMs)
      if (newer) {
        this.look = look
        this.unexplained = false
      }
      this.askedAtMs = Math.max(this.askedAtMs, askedAtMs)
    }
    this.filter.count(look.version, look.buyers, askedAtMs, nowMs)
  }

  reserved(hashes: readonly number[], epoch: Epoch, version: number, left: number): void {
    this.filter.add(hashes, epoch, version)
    const known = this.look
    if (known === undefined || known.epoch !== epoch || known.version >= version) return
    this.unexplained ||= version > known.version + (hashes.length > 0 ? 1 : 0)
    // What is not left any more is held; a change of the stock itself shows with the next look.
    this.look = { ...known, version, left, held: Math.max(0, known.held + known.left - left) }
  }
}
