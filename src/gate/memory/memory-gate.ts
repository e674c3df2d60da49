/**
 * The gate inside the process: for one machine, rebuilt from the ledger at start. Its state dies with the process, so it needs no
 * identity beside the epoch (E1): what was not built by this process, under this epoch, is not there.
 * Guarantees: each call is decided at once, in the order of the calls, before its promise is given out; the clock does not step back
 * (`step-back.ts`).
 * Does not write an outbox: behind it, buyers are answered only after the ledger's commit. It never answers `busy` or `unknown`,
 * and with one shard never `wait`.
 *
 * States of an item: as in the contract, and dropped, where nothing is kept but the lowest epoch that may come back: some hundred bytes per
 * item for as long as the process lives.
 * A fenced epoch's book is kept until the next is active, so that `knows` goes on answering; a rebuild holds two for that time.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import { checkEpoch, checkTerms } from '../arguments.ts'
import type {
  Ask,
  ChangeReply,
  Done,
  FindReply,
  Gate,
  GateBooks,
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

/** The epochs of one item. */
interface Known {
  /** The highest epoch that was fenced, loaded or activated: a lower one is stale (E3). */
  seen: Epoch
  /** The highest epoch that was fenced: a lower one does not sell any more. */
  fenced: Epoch
  loading: { readonly epoch: Epoch; readonly book: Book } | undefined
  active: ActiveEpoch | undefined
}

const HOLDINGS_PAGE = 1_000
const DONE: Done = Object.freeze({ status: 'done' })
const STALE: { readonly status: 'stale' } = Object.freeze({ status: 'stale' })

export class MemoryGate implements Gate, LocalView, GateBooks {
  readonly #clock: Clock
  readonly #items = new Map<ItemId, Known>()
  #lastMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    this.#lastMs = outwaitStepBack(this.#lastMs, Math.floor(this.#clock.now()))
    return this.#lastMs
  }

  shown(item: ItemId): GateStatus | undefined {
    return this.statusNow(item)
  }

  statusNow(item: ItemId): GateStatus | undefined {
    return this.#selling(item)?.status
  }

  knows(item: ItemId, buyer: BuyerId): boolean {
    return this.#items.get(item)?.active?.book.hasBuyer(buyer) ?? false
  }

  refusal(item: ItemId, epoch: Epoch, ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>) {
    return this.#selling(item, epoch)?.refusal(this.nowMs(), ask)
  }

  drop(item: ItemId): void {
    const known = this.#items.get(item)
    if (known === undefined || (known.active === undefined && known.loading === undefined)) return
    // One above, not the same: a late keeper of the dropped epoch would otherwise sell again what its old snapshot shows.
    known.seen += 1
    known.loading = undefined
    known.active = undefined
  }

  async status(items: readonly ItemId[]): Promise<GateStatusReply> {
    const statuses = items.flatMap(item => this.statusNow(item) ?? [])
    return { nowMs: this.nowMs(), items: statuses.map(status => ({ ...status })) }
  }

  async reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    const active = this.#selling(item, epoch)
    if (active === undefined) return { status: 'stale', epoch: this.#items.get(item)?.seen ?? 0 }
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
    return { status: 'ok', holdings: active.book.holdings(buyer) }
  }

  async *holdings(item: ItemId, epoch: Epoch): AsyncGenerator<readonly Holding[]> {
    const active = this.#selling(item, epoch)
    if (active !== undefined) yield* active.book.pages(HOLDINGS_PAGE)
  }

  async change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    return this.#selling(item, epoch)?.change(no, delta) ?? STALE
  }

  async set(item: ItemId, epoch: Epoch, state: WindowState): Promise<Done> {
    const active = this.#selling(item, epoch)
    if (active === undefined) return STALE
    active.set(state)
    return DONE
  }

  async fence(item: ItemId, epoch: Epoch): Promise<Done> {
    checkEpoch(item, epoch, 1)
    const known = this.#known(item)
    if (epoch < known.seen) return STALE
    if (known.loading !== undefined && known.loading.epoch < epoch) known.loading = undefined
    known.seen = epoch
    known.fenced = epoch
    return DONE
  }

  async load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done> {
    checkEpoch(item, epoch, 1)
    const known = this.#known(item)
    if (epoch < known.seen || known.active?.status.epoch === epoch) return STALE
    const book = known.loading?.epoch === epoch ? known.loading.book : new Book()
    book.load(holdings)
    known.loading = { epoch, book }
    known.seen = epoch
    return DONE
  }

  async activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done> {
    checkEpoch(item, epoch, 1)
    checkTerms(terms)
    const known = this.#known(item)
    if (this.#selling(item, epoch) !== undefined) return DONE
    if (epoch < known.seen) return STALE
    const book = known.loading?.epoch === epoch ? known.loading.book : new Book()
    assert(
      book.held === terms.held && book.buyers === terms.buyers,
      `item ${item}, epoch ${epoch}: loaded ${book.held} held by ${book.buyers} buyers, the terms say ${terms.held} by ${terms.buyers}`,
    )
    known.active = new ActiveEpoch(item, epoch, terms, book)
    known.loading = undefined
    known.seen = epoch
    return DONE
  }

  /** The epoch that may sell this item now, if there is one and, when asked for by number, if it is that one (E1, E8). */
  #selling(item: ItemId, epoch?: Epoch): ActiveEpoch | undefined {
    const known = this.#items.get(item)
    const active = known?.active
    if (known === undefined || active === undefined || active.status.epoch < known.fenced) return undefined
    return epoch === undefined || epoch === active.status.epoch ? active : undefined
  }

  #known(item: ItemId): Known {
    let known = this.#items.get(item)
    if (known === undefined) {
      known = { seen: 0, fenced: 0, loading: undefined, active: undefined }
      this.#items.set(item, known)
    }
    return known
  }
}
