/**
 * The gate inside the process: for one machine, rebuilt from the ledger at start. Its state dies with the process, so it needs no
 * identity beside the epoch (E1): what was not built by this process, under this epoch, is not there.
 * Guarantees: each call is decided at once, in the order of the calls, before its promise is given out; the clock does not step back
 * (`step-back.ts`).
 * Does not write an outbox: behind it, buyers are answered only after the ledger's commit. It never answers `busy` or `unknown`,
 * and with one shard never `wait`.
 *
 * States of an item (its place): absent → loading(epoch) → active(epoch) → fenced(epoch' > epoch) → loading(epoch') → …, and
 * dropped, where nothing is kept but the epoch that a come-back must reach: some hundred bytes per item of the process's life.
 * A fenced epoch's book is kept until the next is active, so that `knows` goes on answering; a rebuild holds two for that time.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { checkEpoch, checkTerms } from '../arguments.ts'
import type { GateBooks } from '../books.ts'
import type {
  Ask,
  ChangeReply,
  Done,
  FindReply,
  Gate,
  GateStatus,
  GateStatusReply,
  Holding,
  Release,
  ReserveReply,
  Terms,
  WindowState,
} from '../gate.ts'
import type { LocalView } from '../local-view.ts'
import { outwaitStepBack } from '../step-back.ts'
import { ActiveEpoch } from './active-epoch.ts'
import { Book } from './book.ts'

interface Place {
  /** The highest epoch that was fenced, loaded or activated: a lower one has no say any more (E3). */
  seen: Epoch
  /** The highest epoch that was fenced: a lower one does not sell any more. */
  fenced: Epoch
  loading: { readonly epoch: Epoch; readonly book: Book } | undefined
  active: ActiveEpoch | undefined
}

const HOLDINGS_PAGE = 1_000
const DONE: Done = Object.freeze({ status: 'done' })
const STALE: { readonly status: 'stale' } = Object.freeze({ status: 'stale' })

export function createMemoryGate(parts: { readonly clock: Clock }): Gate & Required<LocalView> & GateBooks {
  return new MemoryGate(parts.clock)
}

class MemoryGate implements Gate, LocalView, GateBooks {
  readonly #clock: Clock
  readonly #places = new Map<ItemId, Place>()
  #lastMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    this.#lastMs = outwaitStepBack(this.#lastMs, Math.floor(this.#clock.now()))
    return this.#lastMs
  }

  statusNow(item: ItemId): GateStatus | undefined {
    return this.#selling(item)?.look
  }

  knows(item: ItemId, buyer: BuyerId): boolean {
    return this.#places.get(item)?.active?.knows(buyer) ?? false
  }

  refusal(item: ItemId, epoch: Epoch, ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>) {
    return this.#selling(item, epoch)?.refusal(this.nowMs(), ask)
  }

  drop(item: ItemId): void {
    const place = this.#places.get(item)
    if (place === undefined || (place.active === undefined && place.loading === undefined)) return
    // One above, not the same: a late keeper of the dropped epoch would otherwise sell again what its old snapshot shows.
    place.seen += 1
    place.loading = undefined
    place.active = undefined
  }

  async status(items: readonly ItemId[]): Promise<GateStatusReply> {
    const looks: GateStatus[] = []
    for (const item of items) {
      const look = this.statusNow(item)
      if (look !== undefined) looks.push({ ...look })
    }
    return { nowMs: this.nowMs(), items: looks }
  }

  async reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const active = this.#selling(item, epoch)
    if (active === undefined) return { status: 'stale', epoch: this.#places.get(item)?.seen ?? 0 }
    return active.reserve(this.nowMs(), asks)
  }

  async release(item: ItemId, epoch: Epoch, releases: readonly Release[]): Promise<Done> {
    const active = this.#selling(item, epoch)
    if (active === undefined) return STALE
    active.release(releases)
    return DONE
  }

  async find(item: ItemId, buyer: BuyerId): Promise<FindReply> {
    const active = this.#selling(item)
    if (active === undefined) return STALE
    return { status: 'ok', holdings: active.find(buyer) }
  }

  async *holdings(item: ItemId, epoch: Epoch): AsyncGenerator<readonly Holding[]> {
    const active = this.#selling(item, epoch)
    if (active !== undefined) yield* active.pages(HOLDINGS_PAGE)
  }

  async change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    return this.#selling(item, epoch)?.change(no, delta) ?? STALE
  }

  async set(item: ItemId, epoch: Epoch, word: WindowState): Promise<Done> {
    const active = this.#selling(item, epoch)
    if (active === undefined) return STALE
    active.set(word)
    return DONE
  }

  async fence(item: ItemId, epoch: Epoch): Promise<Done> {
    checkEpoch(item, epoch, 1)
    const place = this.#place(item)
    if (epoch < place.seen) return STALE
    if (place.loading !== undefined && place.loading.epoch < epoch) place.loading = undefined
    place.seen = epoch
    place.fenced = epoch
    return DONE
  }

  async load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done> {
    checkEpoch(item, epoch, 1)
    const place = this.#place(item)
    if (epoch < place.seen || place.active?.look.epoch === epoch) return STALE
    const book = place.loading?.epoch === epoch ? place.loading.book : new Book()
    book.load(holdings)
    place.loading = { epoch, book }
    place.seen = epoch
    return DONE
  }

  async activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done> {
    checkEpoch(item, epoch, 1)
    checkTerms(terms)
    const place = this.#place(item)
    if (this.#selling(item, epoch) !== undefined) return DONE
    if (epoch < place.seen) return STALE
    const book = place.loading?.epoch === epoch ? place.loading.book : new Book()
    assert(
      book.held === terms.held && book.buyers === terms.buyers,
      `item ${item}, epoch ${epoch}: loaded ${book.held} held by ${book.buyers} buyers, the terms say ${terms.held} by ${terms.buyers}`,
    )
    place.active = new ActiveEpoch(item, epoch, terms, book)
    place.loading = undefined
    place.seen = epoch
    return DONE
  }

  /** The epoch that may sell this item now, if there is one and, when asked for by number, if it is that one (E1, E8). */
  #selling(item: ItemId, epoch?: Epoch): ActiveEpoch | undefined {
    const place = this.#places.get(item)
    const active = place?.active
    if (place === undefined || active === undefined || active.look.epoch < place.fenced) return undefined
    return epoch === undefined || epoch === active.look.epoch ? active : undefined
  }

  #place(item: ItemId): Place {
    let place = this.#places.get(item)
    if (place === undefined) {
      place = { seen: 0, fenced: 0, loading: undefined, active: undefined }
      this.#places.set(item, place)
    }
    return place
  }
}
