/**
 * Reservations that this process has told buyers of and has not seen in the ledger yet (E6): `reserved` and `same` alike, each with the epoch
 * it was acknowledged under. If the gate loses one, it is handed to the ledger from here.
 *
 * Bounded: a batch books its room before the gate is asked, so that nothing is acknowledged that would not be remembered.
 * An entry leaves when it is seen in the ledger: by a worker's message, by a read of the ledger, or by the hand-over itself.
 */

import type { BuyerId, Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Reservation } from '../../domain/order.ts'

/** What is acknowledged and not seen placed by then is read in the ledger. */
export const READ_AFTER_MS = 2_000

interface Acknowledgement {
  readonly epoch: Epoch
  readonly reservation: Reservation
  /** When to read it in the ledger if no message has told of it by then. Monotonic, ms. */
  readonly readAtMs: number
}

export type AcknowledgedReservations = ReturnType<typeof createAcknowledgedReservations>

export function createAcknowledgedReservations(max: number) {
  /** In the order of `readAtMs`: every entry is put at the end with a later time than all before it. */
  const byOrder = new Map<OrderId, Acknowledgement>()
  const byItem = new Map<ItemId, Map<Epoch, Map<OrderId, Reservation>>>()
  /** Nearly always one: a list costs an order far less than a Map. */
  const byBuyer = new Map<BuyerId, Reservation[]>()
  let booked = 0

  /** It is in the ledger, or the ledger has refused it by a row. */
  function settled(order: OrderId): void {
    const known = byOrder.get(order)
    if (known === undefined) return
    byOrder.delete(order)
    const { item, buyer } = known.reservation
    const own = byBuyer.get(buyer)?.filter(one => one.id !== order) ?? []
    if (own.length === 0) byBuyer.delete(buyer)
    else byBuyer.set(buyer, own)
    const epochs = byItem.get(item)
    const held = epochs?.get(known.epoch)
    held?.delete(order)
    if (held?.size === 0) epochs?.delete(known.epoch)
    if (epochs?.size === 0) byItem.delete(item)
  }

  return {
    /** Room for so many more. False: there is none, nothing was booked. */
    book(count: number): boolean {
      if (byOrder.size + booked + count > max) return false
      booked += count
      return true
    },
    /** Gives back what was booked, used or not. */
    unbook(count: number): void {
      booked -= count
    },
    /** Only within booked room, and before the booking is given back. The same order again changes nothing. */
    remember(epoch: Epoch, reservation: Reservation, readAtMs: number): void {
      if (byOrder.has(reservation.id)) return
      byOrder.set(reservation.id, { epoch, reservation, readAtMs })
      const epochs = byItem.get(reservation.item) ?? new Map<Epoch, Map<OrderId, Reservation>>()
      const held = epochs.get(epoch) ?? new Map<OrderId, Reservation>()
      byItem.set(reservation.item, epochs.set(epoch, held))
      held.set(reservation.id, reservation)
      const own = byBuyer.get(reservation.buyer)
      if (own === undefined) byBuyer.set(reservation.buyer, [reservation])
      else own.push(reservation)
    },
    settled,
    find: (order: OrderId): Acknowledgement | undefined => byOrder.get(order),
    ofBuyer: (buyer: BuyerId): readonly Reservation[] => [...(byBuyer.get(buyer) ?? [])],
    /** Of an item, under epochs below this one: oldest epoch first, each in the order it was acknowledged. */
    olderThan(item: ItemId, epoch: Epoch) {
      return [...(byItem.get(item) ?? [])]
        .filter(([under]) => under < epoch)
        .sort(([a], [b]) => a - b)
        .map(([under, held]) => ({ epoch: under, reservations: [...held.values()] }))
    },
    holdsOlder(item: ItemId, epoch: Epoch): boolean {
      for (const under of byItem.get(item)?.keys() ?? []) if (under < epoch) return true
      return false
    },
    /** Of which anything is remembered. */
    items: (): readonly ItemId[] => [...byItem.keys()],
    /** Those that are due to be read in the ledger, at most so many; their next time is `againAtMs`. */
    due(nowMs: number, most: number, againAtMs: number): readonly OrderId[] {
      const found: OrderId[] = []
      for (const [order, known] of byOrder) {
        if (known.readAtMs > nowMs || found.length === most) break
        found.push(order)
      }
      for (const order of found) {
        const known = byOrder.get(order)!
        byOrder.delete(order)
        byOrder.set(order, { ...known, readAtMs: againAtMs })
      }
      return found
    },
    size: (): number => byOrder.size,
  }
}
