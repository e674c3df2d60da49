/**
 * Which buyers have any reservation of one item, live or closed, as far as this process knows: hashes of buyers, so a "yes" may be wrong and
 * costs a question, and a "no" must not be. "No" is answered only while the filter holds every buyer that the newest status counts:
 *
 *   complete  every buyer counted by the newest status is in it
 *   short     the newest status counts more buyers than were known by then. Messages may still be under way, so it is not reloaded at once
 *   doubted   messages were missed, or epochs, or the beginning of the sale: the right number might be the wrong buyers. Until it is
 *             reloaded, or a status shows that nothing has changed
 *   full      there was no room
 *
 * In the last three states every buyer is a "yes". After a reload, and in a new epoch, a status that was asked for later must agree first.
 *
 * Why counting works: a status counts the buyers as of its version, so it is compared with those known up to that version. Buyers whose
 * only reservation was refused stay in here and are not counted by the gate any more: `#surplus` remembers how many there are too many, so
 * that they do not hide others who are missing.
 */

import type { Epoch } from '../../domain/ids.ts'

/** How many hashes all filters together may still take. */
export interface Room {
  left: number
}

/** How long messages may take before the filter is reloaded. */
const UNDERWAY_MS_MAX = 500
const LATER_MAX = 1_000

export class BuyerFilter {
  readonly #room: Room
  #epoch: Epoch
  #buyers = new Set<number>()
  /** How many of them were known up to `#version`. */
  #counted = 0
  /** The others, by the version they came with. */
  #later: { version: number; buyers: number }[] = []
  /** Of the newest status that was compared, and how many buyers that had. */
  #version = -1
  #wanted = 0
  #surplus = 0
  /** A status was compared since the last reload or epoch. */
  #confirmed = false
  #full = false
  #shortSinceMs: number | undefined
  /** Since when, and the version it was complete for (-1: none). */
  #doubt: { readonly sinceMs: number; readonly version: number } | undefined
  #reload: Set<number> | undefined
  /** A status that was asked for earlier is not compared. */
  #reloadedAtMs = Number.NEGATIVE_INFINITY

  /** @param missedAtMs when messages were last missed, whatever they were about */
  constructor(room: Room, epoch: Epoch, missedAtMs: number) {
    this.#room = room
    this.#epoch = epoch
    // It may begin in the middle of a sale.
    this.#doubt = { sinceMs: missedAtMs, version: -1 }
  }

  mayHold(hash: number): boolean {
    return !this.#complete() || this.#buyers.has(hash)
  }

  /** Buyers of a reply or a message of this epoch or an older one. */
  add(hashes: readonly number[], epoch: Epoch, version: number): void {
    // A buyer of an older epoch was there when this one began.
    const before = epoch < this.#epoch || version <= this.#version
    let added = 0
    for (const hash of hashes) {
      if (this.#reload !== undefined) this.#put(this.#reload, hash)
      if (!this.#full && this.#put(this.#buyers, hash)) added += 1
    }
    if (added === 0 || this.#full) return
    if (before) this.#counted += added
    else this.#addLater(version, added)
    if (this.#counted - this.#surplus >= this.#wanted) this.#shortSinceMs = undefined
  }

  /** Compares a status of this epoch. */
  count(version: number, buyers: number, askedAtMs: number, nowMs: number): void {
    if (askedAtMs <= this.#reloadedAtMs || version < this.#version) return
    const doubt = this.#doubt
    // Nothing has happened since it was complete, or there is no buyer.
    if (doubt !== undefined && askedAtMs > doubt.sinceMs && (version === doubt.version || buyers === 0))
      this.#doubt = undefined
    this.#confirmed = true
    this.#version = version
    this.#wanted = buyers
    this.#later = this.#later.filter(later => {
      if (later.version > version) return true
      this.#counted += later.buyers
      return false
    })
    if (this.#counted - this.#surplus >= this.#wanted) {
      this.#surplus = this.#counted - this.#wanted
      this.#shortSinceMs = undefined
    } else this.#shortSinceMs ??= nowMs
  }

  /** Messages may have been missed, up to now. */
  doubt(nowMs: number): void {
    this.#doubt = { sinceMs: nowMs, version: this.#doubt?.version ?? (this.#complete() ? this.#version : -1) }
  }

  /** A higher epoch sells. The very next one begins with the buyers this one ended with; of any other that is not known. */
  advance(epoch: Epoch, nowMs: number): void {
    const known = epoch === this.#epoch + 1 && this.#complete()
    this.#epoch = epoch
    this.#confirmed = false
    this.#version = -1
    this.#counted = this.#buyers.size
    this.#later = []
    this.#endReload()
    if (!known) this.#doubt = { sinceMs: nowMs, version: -1 }
  }

  /** Should all buyers be read again? */
  isToReload(nowMs: number): boolean {
    if (!this.#confirmed || this.#reload !== undefined) return false
    // With less room than that it would only be full again.
    if (this.#room.left + this.#buyers.size < this.#wanted) return false
    const short = this.#shortSinceMs !== undefined && nowMs - this.#shortSinceMs >= UNDERWAY_MS_MAX
    return this.#full || this.#doubt !== undefined || short
  }

  /** Reads into a second set; buyers who come meanwhile are added to both. Does nothing while another reload is under way. */
  async reload(pages: AsyncIterable<readonly number[]>, nowMs: () => number): Promise<void> {
    if (this.#reload !== undefined) return
    if (this.#room.left < this.#wanted && !this.#complete()) this.#beFull()
    const fresh = new Set<number>()
    const doubt = this.#doubt
    this.#reload = fresh
    try {
      for await (const page of pages) {
        for (const hash of page) {
          // Another epoch, no room, or dropped: the rest is not needed.
          if (this.#reload !== fresh) return
          this.#put(fresh, hash)
        }
      }
      if (this.#reload !== fresh) return
      this.#hold(fresh)
      this.#reload = undefined
      this.#full = false
      this.#shortSinceMs = undefined
      this.#reloadedAtMs = nowMs()
      // The next status must agree first.
      this.#confirmed = false
      // A buyer whose message was missed meanwhile may be missing in the pages too.
      if (doubt === this.#doubt) this.#doubt = undefined
    } finally {
      if (this.#reload === fresh) this.#endReload()
    }
  }

  /** Gives its room back. Not used again. */
  drop(): void {
    this.#endReload()
    this.#beFull()
  }

  #complete(): boolean {
    return this.#confirmed && this.#shortSinceMs === undefined && this.#doubt === undefined && !this.#full
  }

  #addLater(version: number, buyers: number): void {
    const last = this.#later.at(-1)
    if (last !== undefined && (last.version === version || this.#later.length >= LATER_MAX)) {
      last.version = Math.max(last.version, version)
      last.buyers += buyers
    } else this.#later.push({ version, buyers })
  }

  #put(set: Set<number>, hash: number): boolean {
    if (set.has(hash)) return false
    if (this.#room.left === 0) {
      if (set === this.#reload) this.#endReload()
      else this.#beFull()
      return false
    }
    this.#room.left -= 1
    set.add(hash)
    return true
  }

  #endReload(): void {
    this.#room.left += this.#reload?.size ?? 0
    this.#reload = undefined
  }

  #beFull(): void {
    this.#hold(new Set())
    this.#full = true
  }

  /** These instead of the ones before, whose room is free again. */
  #hold(buyers: Set<number>): void {
    this.#room.left += this.#buyers.size
    this.#buyers = buyers
    this.#counted = buyers.size
    this.#later = []
    this.#surplus = 0
  }
}
