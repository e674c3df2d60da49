/**
 * What has just happened, for the parts of this process that show it to people. Flows publish it after the ledger's commit, never before; a
 * listener gets orders and sales as they are now, not what was done to them. Nothing is kept and nothing is promised: a listener that was
 * away reads the current state when it comes back. How many units are left is not published here but read from the gate, because at the
 * opening it changes with every batch.
 *
 * In this process only; `share-messages.ts` carries the same messages between processes.
 */

import type { Order, Reservation } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'

export interface MessageListener {
  /** Called on the way of every placed order: must be quick, and must not throw. */
  orderChanged(order: Order): void
  saleChanged(sale: Sale): void
  /** A buyer was told "reserved". The order itself follows when it is placed or refused. */
  orderReserved?(reservation: Reservation): void
  /** Messages may have been lost. */
  missed?(): void
}

export interface Messages extends Required<MessageListener> {
  /** From now on, until the end of the process. */
  listen(listener: MessageListener): void
}

export function createMessages(): Messages {
  const listeners: MessageListener[] = []
  return {
    listen: listener => void listeners.push(listener),
    orderChanged(order) {
      for (const listener of listeners) listener.orderChanged(order)
    },
    saleChanged(sale) {
      for (const listener of listeners) listener.saleChanged(sale)
    },
    orderReserved(reservation) {
      for (const listener of listeners) listener.orderReserved?.(reservation)
    },
    missed() {
      for (const listener of listeners) listener.missed?.()
    },
  }
}
