/**
 * Who has any reservation of one item, live or closed, as far as this process has heard: hashes of buyers, so a "yes" may be wrong and
 * costs a question, and a "no" must not be. It is believed only while it holds everybody whom the newest look counts:
 *
 *   complete  everybody counted by the newest look is in it; a "no" is a no
 *   short     the newest look counts more than were heard of until then. Messages may still be underway, so nobody is asked to reload at
 *             once; meanwhile everybody is a "yes"
 *   doubted   messages were missed, or epochs, or the beginning of the sale: the right number might be the wrong people. Until it is
 *             reloaded, or a look shows that nothing has changed, everybody is a "yes"
 *   full      there was no room. Everybody is a "yes"
 *
 * After a reload, and in a new epoch, it is believed again when a look that was asked for later agrees with it.
 *
 * Why counting works: a look counts the buyers as of its version, so only those heard of up to that version are held against it. Buyers
 * whose only reservation was refused stay in here and are not counted by the gate any more: by how many there are too many is remembered
 * (`#surplus`), so that they don't stand in for others who are missing.
 */

import type { Epoch } from '../../domain/ids.ts'

/** How many hashes all filters together may still take. */
export interface Room {
  left: number
}

/** How long messages may take before the missing ones are looked for. */
const UNDERWAY_MS_MAX = 500
const LATER_MAX = 1_000

interface Later {
  version: number
  buyers: number
}

export class BuyerFilter {
  readonly #room: Room
  #epoch: Epoch
  #buyers = new Set<number>()
  /** How many of them were heard of up to `#version`. */
  #counted = 0
  /** The others, by the version they were heard with. */
  #later: Later[] = []
  /** Of the newest look that was held against it, and how many buyers that had. */
  #version = -1
  #wanted = 0
  #surplus = 0
  #looked = false
  #full = false
  #shortSinceMs: number | undefined
  /** Since when, and as of which version it was complete (-1: it was not). */
  #doubt: { readonly sinceMs: number; readonly version: number } | undefined
  #doubts = 0
  #reload: Set<number> | undefined
  /** Looks that were not asked for later say nothing about what was reloaded. */
  #reloadedAtMs = Number.NEGATIVE_INFINITY

  /** @param missedAtMs when messages were last missed, whatever they were about */
  constructor(room: Room, epoch: Epoch, missedAtMs: number) {
    this.#room = room
    this.#epoch = epoch
    // Met in the middle of a sale it does not know its beginning.
    this.#doubt = { sinceMs: missedAtMs, version: -1 }
  }

  get epoch(): Epoch {
    return this.#epoch
  }

  mayHold(hash: number): boolean {
    return !this.#complete() || this.#buyers.has(hash)
  }

  /** Buyers heard of in a reply or a message of this epoch or an older one. */
  add(hashes: readonly number[], epoch: Epoch, version: number): void {
    // Whoever had a reservation in an older epoch was there when this one began.
    const before = epoch < this.#epoch || version <= this.#version
    let added = 0
    for (const hash of hashes) {
      if (this.#reload !== undefined) this.#put(this.#reload, hash)
      if (!this.#full && this.#put(this.#buyers, hash)) added += 1
    }
    if (added === 0 || this.#full) return
    if (before) this.#counted += added
    else this.#heardLater(version, added)
    if (this.#counted - this.#surplus >= this.#wanted) this.#shortSinceMs = undefined
  }

  /** Holds a look of this epoch against it. */
  count(version: number, buyers: number, askedAtMs: number, nowMs: number): void {
    if (askedAtMs <= this.#reloadedAtMs || version < this.#version) return
    const doubt = this.#doubt
    // Nothing has happened since it was complete, or there is nothing to know.
    if (doubt !== undefined && askedAtMs > doubt.sinceMs && (version === doubt.version || buyers === 0))
      this.#doubt = undefined
    this.#looked = true
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
    this.#doubts += 1
    this.#doubt = { sinceMs: nowMs, version: this.#doubt?.version ?? (this.#complete() ? this.#version : -1) }
  }

  /** A higher epoch sells. The next one begins with exactly those whom this one ended with; after another, nobody knows with whom. */
  advance(epoch: Epoch, nowMs: number): void {
    const known = epoch === this.#epoch + 1 && this.#complete()
    this.#epoch = epoch
    this.#looked = false
    this.#version = -1
    this.#counted = this.#buyers.size
    this.#later = []
    this.#endReload()
    if (known) return
    this.#doubts += 1
    this.#doubt = { sinceMs: nowMs, version: -1 }
  }

  /** Worth reading everybody again? */
  isToReload(nowMs: number): boolean {
    if (!this.#looked || this.#reload !== undefined) return false
    // With fewer than that many places free it would only be full again.
    if (this.#room.left + this.#buyers.size < this.#wanted) return false
    const short = this.#shortSinceMs !== undefined && nowMs - this.#shortSinceMs >= UNDERWAY_MS_MAX
    return this.#full || this.#doubt !== undefined || short
  }

  /** Begins anew beside what is there: whoever is heard of from now on is in both. Nothing when one is underway. */
  async reload(pages: AsyncIterable<readonly number[]>, nowMs: () => number): Promise<void> {
    if (this.#reload !== undefined) return
    if (this.#room.left < this.#wanted && !this.#complete()) this.#beFull()
    const fresh = new Set<number>()
    const doubts = this.#doubts
    this.#reload = fresh
    try {
      for await (const page of pages) {
        for (const hash of page) {
          // Another epoch, no room, or dropped: what is read now is not wanted any more.
          if (this.#reload !== fresh) return
          this.#put(fresh, hash)
        }
      }
      if (this.#reload !== fresh) return
      this.#room.left += this.#buyers.size
      this.#buyers = fresh
      this.#reload = undefined
      this.#full = false
      this.#counted = fresh.size
      this.#later = []
      this.#surplus = 0
      this.#shortSinceMs = undefined
      this.#reloadedAtMs = nowMs()
      // Complete, if nothing is being missed right now: the next look says so.
      this.#looked = false
      // What was missed while it was read may have been missed by the reading too.
      if (doubts === this.#doubts) this.#doubt = undefined
    } finally {
      if (this.#reload === fresh) this.#endReload()
    }
  }

  /** Gives its room back; it is not to be used again. */
  drop(): void {
    this.#endReload()
    this.#beFull()
  }

  #complete(): boolean {
    return this.#looked && this.#shortSinceMs === undefined && this.#doubt === undefined && !this.#full
  }

  #heardLater(version: number, buyers: number): void {
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
    this.#room.left += this.#buyers.size
    this.#buyers = new Set()
    this.#counted = 0
    this.#later = []
    this.#surplus = 0
    this.#full = true
  }
}
