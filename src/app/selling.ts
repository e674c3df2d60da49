/**
 * What differs between a process that has the gate to itself and one of a cluster, as the rest of the composition sees it: where the gate
 * is, what taking an order needs beyond it, and how the process begins, knows that it is ready, and ends.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Sale } from '../domain/sale.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { UnplacedReservations } from '../flows/follow/unplaced-reservations.ts'
import type { SyncState } from '../flows/keep/sync-state.ts'
import type { ReservedOrdersParts } from '../flows/sell/find-orders.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import type { TakeOrderParts } from '../flows/sell/take-order.ts'
import type { GateBooks } from '../gate/books.ts'
import type { Gate } from '../gate/gate.ts'
import type { LocalView } from '../gate/local-view.ts'
import type { LedgerParts } from './compose-ledger.ts'
import type { Config } from './config.ts'
import type { holdNode } from './node-lease.ts'
import type { createRounds, KeeperWork } from './rounds.ts'
import type { createWatching } from './watching.ts'

/** Where the gate is. */
export interface GateSide {
  readonly gate: Gate
  readonly near: LocalView
  readonly books: GateBooks
  readonly view: GateView
  /** Messages as the flows of this process tell them; in a cluster the others hear them too. */
  readonly share?: (messages: Messages, meters: Meters) => Messages
}

/** What every way to sell is made of. */
export interface SellingParts {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  readonly random: Random
  readonly ledger: LedgerParts
  readonly registry: Registry
  readonly catalog: Catalog
  readonly changed: () => void
  readonly node: Awaited<ReturnType<typeof holdNode>>
  readonly rounds: ReturnType<typeof createRounds>
  readonly watching: ReturnType<typeof createWatching>
  /** Opens connections and reads the catalog before the crowd needs them. */
  readonly prepare: () => Promise<void>
  readonly signal: AbortSignal
}

/** Said on the way. */
export interface StartWords {
  /** Others do what this process would do; `why` ends the sentence. */
  standby(why: string): void
  demo(sale: Sale): void
}

export interface Selling {
  readonly syncState: SyncState
  readonly take: Pick<TakeOrderParts, 'attempts' | 'reserved'>
  readonly reserved: ReservedOrdersParts | undefined
  /** Undefined: nothing is ever promised outside the ledger. */
  readonly unplaced: UnplacedReservations | undefined
  readonly reconcile: Pick<CheckContext, 'underWay' | 'rebuild'>
  /** What keeps this process from taking traffic. */
  missing(): readonly string[]
  /** Resolves when it takes traffic (true), or when `stopping` aborts first (false). */
  start(work: KeeperWork, words: StartWords, stopping: AbortSignal): Promise<boolean>
  /** Resolves or rejects when something has ended that the process can't be without. */
  ended(): Promise<unknown>
  /** After the last answer: everything that is held goes where it belongs. */
  stop(): Promise<void>
}

/** So many are decided together. */
export const BATCH_MAX = 500
/** So many wait before the gate, per item. */
export const QUEUE_MAX = 20_000
