/**
 * What came with orders for their parcels: contact and metadata. Written after the order, best effort; nothing about an order depends on it but the start of
 * its payment, where the sale asks for a contact.
 */

import type { BuyerId, ItemId, OrderId } from '../domain/ids.ts'
import type { OrderState } from '../domain/order.ts'
import type { Contact, Parcel } from '../domain/parcel.ts'

export interface ParcelOfOrder extends Parcel {
  readonly order: OrderId
  readonly item: ItemId
  readonly buyer: BuyerId
}

export interface Parcels {
  /** Each order once. What is there stays. Nothing is written for orders that were refused, or are another buyer's. */
  fill(parcels: readonly ParcelOfOrder[]): Promise<void>
  /**
   * The named fields replace what is there, until the order is paid. Undefined state: the order is not in the ledger; the caller has seen the
   * buyer's reservation.
   */
  changeContact(
    of: Pick<ParcelOfOrder, 'order' | 'item' | 'buyer'>,
    contact: Contact,
  ): Promise<{ readonly state: OrderState | undefined; readonly parcel: Parcel | undefined }>
  /** Orders that have neither are not in it. */
  of(orders: readonly OrderId[]): Promise<ReadonlyMap<OrderId, Parcel>>
  /** Orders with this e-mail address, phone number or name, newest first, behind `before`. */
  byContact(text: string, before: OrderId | undefined, limit: number): Promise<readonly OrderId[]>
  /**
   * Deletes what was written for a reservation that was refused, or did not become an order in `waitMs`. Returns how many rows it looked at.
   */
  sweep(max: number, waitMs: number): Promise<number>
}
