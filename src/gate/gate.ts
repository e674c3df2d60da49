/**
 * The gate: sole owner of the units on sale. At every instant each unit of an item is left or held by exactly one reservation.
 * Judges epoch, window, buyer and stock in one step, in arrival order; never guesses: an answer it can't give is `stale` or
 * `unknown`. Does not know orders, payments or HTTP. Rules E1–E9 of the protocol are kept here; `gate.contract.ts` is the suite
 * that every adapter passes.
 *
 * States of an item at the gate: absent → loading(epoch) → active(epoch) → fenced(epoch' > epoch) → loading(epoch') …
 * Until activated, everything but fence, load and activate answers `stale` (E8). Fence and activate only go up (E3).
 * An epoch below the highest one seen is `stale`, with one exception: the active one goes on selling while a higher one is only
 * loading, until that one is fenced or activated.
 *
 * The window is judged by the gate's clock, `opensAtMs` ≤ now < `closesAtMs`; a clock that steps back a little counts as standing still
 * (`step-back.ts`). The status of a batch is the first that is true of: `over` (by an operator, or past the end), `early`, `paused`, `ok`.
 * A malformed argument (a quantity of 0, a page that contradicts itself) is a bug of the caller: the call throws, nothing changes.
 */

import type { ClickTrace } from '../base/trace.ts'
import type { BuyerId, Epoch, ItemId, OrderId } from '../domain/ids.ts'
import type { ShardId } from './shard-ids.ts'

/** One attempt of one buyer, under its order id, which was made before the gate was asked. */
interface BuyerAttempt {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
}

/** A buyer asks for units. */
export interface Ask extends BuyerAttempt {
  readonly quantity: number
  /** When the edge took the click, unix ms. Carried along for the order row; the gate judges by its own clock. */
  readonly askedAtMs: number
  /** Of a click that is traced; a gate outside the process carries it along, and decides nothing by it. */
  readonly trace?: ClickTrace | undefined
}

/** `open` obeys the window; `paused` and `over` were set by an operator and override it. */
export type GateState = 'open' | 'paused' | 'over'

/** The sale's state and window. The ledger numbers their changes, upwards: a stale number is ignored. */
export interface WindowState {
  readonly stateNo: number
  readonly state: GateState
  readonly opensAtMs: number
  readonly closesAtMs: number
}

/**
 * What the gate knows of one item, as of `version`, which goes up with every change of what is shown here, at most once per call.
 * The newer (epoch, version) wins when two are compared.
 */
export interface GateStatus extends WindowState {
  readonly item: ItemId
  readonly epoch: Epoch
  readonly version: number
  readonly left: number
  /** Units in live reservations. */
  readonly held: number
  /** Buyers with any reservation, live or closed. */
  readonly buyers: number
  readonly changeNo: number
  /** Only of an item with several shards: each of them. Everything above is their sum; the strictest state and window; the lowest numbers. */
  readonly shards?: readonly ShardStatus[]
  /** The item's shards differ in state, window or changeNo: a change was interrupted before it reached all of them. */
  readonly uneven?: boolean
  /** Units taken from one shard and not given to another yet: neither left nor held. */
  readonly moving?: number
  /** Too few units are left for so many shards: most buyers would wait for units of other shards. */
  readonly scattered?: boolean
}

/** One of an item's shards. `waitedMs` and `wants` change without a new version; everything else does not. */
export interface ShardStatus {
  readonly shard: ShardId
  readonly version: number
  readonly left: number
  readonly held: number
  readonly buyers: number
  /** How long ago (by the gate's clock) a buyer was last refused `wants` units here. Undefined: none was refused in this epoch. */
  readonly waitedMs: number | undefined
  /** The fewest units that a buyer was refused lately, and may come back for; 0: none was. */
  readonly wants: number
  /** The highest move this shard has taken part in; 0: none in this epoch. */
  readonly moveNo: number
  /** What that move brought (> 0) or took (< 0). */
  readonly moved: number
}

export interface GateStatusReply {
  /** The gate's clock: the one that judges the window. It does not step back (`step-back.ts`). */
  readonly nowMs: number
  /** The clock itself, the fastest of several: unlike `nowMs` it steps back too. Undefined: it is `nowMs`. */
  readonly clockMs?: number
  /** Where items live on several servers, each judges by its own clock: how far the slowest of them is behind the fastest. */
  readonly behindMs?: number
  /** Items that are active; others are missing. */
  readonly items: readonly GateStatus[]
  /** Only where items may live on several servers: those whose server did not answer. */
  readonly away?: readonly ItemId[]
}

/**
 * reserved    the units are taken and held under this very order id
 * same        this buyer already holds a live reservation, for this attempt or another: its order id and quantity are given back,
 *             nothing is taken
 * same_closed this buyer's attempt was used and its order is closed; its order id is given back, nothing is taken
 * not_enough  fewer left than asked for (`left` of the reply says how many when this batch was done)
 * wait        too few units in this buyer's shard, enough in others, as far as is known: ask again, they will be moved
 * attempts_used  the attempt is beyond attemptsMax
 * id_conflict the order id is already recorded for another buyer or attempt of this item. Nothing is taken: one id is never
 *             two reservations. Two edges make the same ids: alarm, and let the buyer ask again under a new one
 * not_now     no reservation of this buyer, and the batch's status (early, over, paused) forbids a new one
 */
export type AskCode =
  | 'reserved'
  | 'same'
  | 'same_closed'
  | 'not_enough'
  | 'wait'
  | 'attempts_used'
  | 'id_conflict'
  | 'not_now'

export interface AskAnswer {
  readonly code: AskCode
  /** reserved: the ask's own id; same and same_closed: the existing id. Otherwise the ask's id, meaning nothing. */
  readonly order: OrderId
  readonly quantity: number
  /** When the existing reservation was made, by the gate's clock; 0 when there is none. */
  readonly reservedAtMs: number
}

/** ok, early, over and paused carry an answer per ask; stale, busy and unknown carry none. */
export type ReserveReply =
  | {
      readonly status: 'ok' | 'early' | 'over' | 'paused'
      readonly epoch: Epoch
      readonly version: number
      readonly left: number
      readonly answers: readonly AskAnswer[]
      /** For the gate cache: where it was decided, if the item has several shards and all asks are of one; `version` and `left` above are the item's. */
      readonly shard?: { readonly id: ShardId; readonly version: number; readonly left: number }
    }
  /** This epoch may not sell here (E1). `epoch` is the highest the gate has seen, for the log. */
  | { readonly status: 'stale'; readonly epoch: Epoch }
  /** The gate is at a bound (its outbox is full). Nothing was taken. */
  | { readonly status: 'busy' }
  /** It may or may not have been taken. Keep the ids and ask again; never release on a guess (E11). */
  | { readonly status: 'unknown' }

/**
 * Order, buyer and attempt must all be the recorded ones, or nothing is given back.
 * `closed` keeps the attempt as used; `refused` forgets it: a refused order does not count as an attempt. `gone` closes the attempt, and
 * the units do not come back: they were written off.
 */
export interface Release extends BuyerAttempt {
  readonly outcome: 'closed' | 'refused' | 'gone'
}

/** stale: not under this epoch (E1, E8). unknown: it may or may not have been done; ask again with the same arguments. */
export type NotDone = { readonly status: 'stale' } | { readonly status: 'unknown' }

export type Done = { readonly status: 'done' } | NotDone

/**
 * done: applied now or before. `taken` is what the change really moved, with the sign of its delta: nearer to 0 than asked when a
 * decrease finds too little left.
 */
export type ChangeReply =
  | { readonly status: 'done'; readonly taken: number }
  /** A smaller number has not arrived yet. */
  | { readonly status: 'gap'; readonly changeNo: number }
  /** Done before this epoch, or more than CHANGES_REMEMBERED numbers ago: what it took is not known here any more; the ledger's row has it. */
  | { readonly status: 'past'; readonly changeNo: number }
  | NotDone

/** Units that come back must be on sale again within two seconds, in every process: no buyer is refused by an older status. */
export const STATUS_FRESH_MS = 1_500

/** How many of the latest stock changes can be asked again with the same answer. */
export const CHANGES_REMEMBERED = 64

/** An attempt as the ledger's snapshot or the gate's map has it. */
export interface Holding extends BuyerAttempt {
  readonly quantity: number
  readonly live: boolean
  readonly reservedAtMs: number
}

export type FindReply = { readonly status: 'ok'; readonly holdings: readonly Holding[] } | NotDone

/** What an epoch starts with. `buyers` and `held` are what the loaded pages must add up to, or activation is refused as a bug. */
export interface Terms extends WindowState {
  readonly left: number
  readonly held: number
  readonly buyers: number
  readonly attemptsMax: number
  readonly changeNo: number
}

/** How an item's asks are queued: asks of one lane are decided by the same stock, and lanes do not wait for each other. */
export interface Lanes {
  readonly count: number
  /** From 0 on; a buyer is always in the same one. */
  laneOf(buyer: BuyerId): number
}

/**
 * The gate's reservations, page by page, for reconciliation and buyer filters. Not for the hot path.
 * Pages are read one after the other while the sale goes on: a difference must be seen twice before it is acted on.
 */
export interface GateBooks {
  /** Every attempt the gate knows of, live and closed. Nothing under another epoch. */
  holdings(item: ItemId, epoch: Epoch): AsyncIterable<readonly Holding[]>
}

export interface Gate {
  /** Only where items may live on several servers: the names of those that this item is on. They come and go together with them. */
  servers?(item: ItemId): readonly string[]
  status(items: readonly ItemId[]): Promise<GateStatusReply>
  /** Decides a batch in arrival order. Same buyer and attempt, same answer, for as long as the epoch lasts. */
  reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply>
  /** Gives units back, only where the map holds this very id live (E8). Done again, it does nothing again. */
  release(item: ItemId, epoch: Epoch, releases: readonly Release[]): Promise<Done>
  /**
   * Every attempt this buyer has made on the item, as far as the gate knows, by attempt number. `toShow`: the buyer will see it, so it must
   * be as durable as a new reservation (E11).
   */
  find(item: ItemId, buyer: BuyerId, toShow?: boolean): Promise<FindReply>
  /** Stock change number `no` (numbers have no gaps). The same number again answers what it answered before. */
  change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply>
  /** Done: this state is set, or one with a higher number was set before. The same number again is set again. */
  set(item: ItemId, epoch: Epoch, state: WindowState): Promise<Done>
  /** From now on everything under a lower epoch is `stale` (E3). */
  fence(item: ItemId, epoch: Epoch): Promise<Done>
  /** A page of the snapshot, for an epoch not yet active (then it is `stale`). The same page twice is the same as once. */
  load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done>
  /**
   * The epoch begins to sell, if no higher one was seen (E9). It starts from the pages loaded under this very epoch; numbered
   * changes go on after `terms.changeNo`. Activating the active epoch again is `done` and changes nothing.
   */
  activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done>
}
