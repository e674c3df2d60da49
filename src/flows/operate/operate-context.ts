/** What the operators' flows share, composed once in `app/compose-flows.ts`. A flow takes only the members it uses. */

import type { Clock } from '../../base/clock.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { Stock } from '../../ledger/stock.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import type { MessageListener } from '../follow/messages.ts'
import type { UnplacedReservations } from '../follow/unplaced-reservations.ts'
import type { SyncState } from '../keep/sync-state.ts'

export interface OperateContext {
  readonly sales: Sales
  readonly stock: Stock
  readonly gate: Gate
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  /** Unix ms, by the clock that judges sale windows. */
  readonly nowMs: () => number
  readonly syncState: SyncState
  /** Undefined where no reservation is acknowledged before it is in the ledger. */
  readonly unplaced?: Pick<UnplacedReservations, 'promised'> | undefined
  /** A sale was changed in the ledger: caches are out of date. */
  readonly changed: () => void
  readonly messages: Pick<MessageListener, 'saleChanged'>
  readonly providers: ReadonlyMap<string, PaymentProvider>
}

/** busy: committed, but not in the gate yet; the keeper goes on trying. */
export type SaleOutcome = { readonly kind: 'done'; readonly sale: Sale } | { readonly kind: 'missing' | 'busy' }
