/** Contact and metadata of orders: what the buyer says until the order is paid, what must be said before, and what is shown with an order. */

import type { Order, Reservation } from '../../domain/order.ts'
import { contactFault, missingOf, type Parcel } from '../../domain/parcel.ts'
import type { Sale } from '../../domain/sale.ts'
import { findOrder } from '../../flows/sell/find-orders.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import type { OwnOrderAnswer } from '../../wire/orders/own-order.ts'
import { wireOrder } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { idParam, readBody, uncached } from '../http/exchange.ts'
import { answerBy, contactInvalid, ProblemError, plainProblem } from '../http/problem-response.ts'

const handlers = {
  async editOrder(edge, exchange) {
    const id = idParam(exchange, 'id')
    const buyer = await edge.identity.buyer(exchange.request)
    const { contact } = await readBody(exchange.request, buyerCalls.editOrder.body.schema)
    return answerBy(await findOrder(edge.find, id, buyer), {
      async found({ order }) {
        refuseEnded(order.state)
        const sale = await edge.catalog.find(order.sale)
        const fault = contactFault(contact, sale?.contactFields ?? [])
        if (fault !== undefined) throw contactInvalid(fault)
        const { state, parcel } = await edge.parcels.changeContact({ order: id, item: order.item, buyer }, contact)
        if (parcel !== undefined) return uncached(wireWith(order, parcel))
        refuseEnded(state)
        throw noSuchOrder()
      },
      missing: noSuchOrder,
      busy: () => plainProblem('busy'),
    })
  },
} satisfies Handlers<typeof buyerCalls>

export const parcelRoutes = (edge: EdgeContext) => routesOf(edge, buyerCalls, handlers)

const noSuchOrder = () => new ProblemError('not_found', 'You have no such order.')

function refuseEnded(state: Order['state'] | Reservation['state'] | undefined): void {
  if (state === 'paid')
    throw new ProblemError('order_paid', 'The order is paid: its contact can no longer be changed here. Ask the shop.')
  if (state === 'closed') throw new ProblemError('order_closed', 'The order is closed, and nothing will be sent.')
}

/** With what came for its parcel. */
export function wireWith(order: Order | Reservation, parcel: Parcel | undefined): OwnOrderAnswer {
  return { ...wireOrder(order), contact: parcel?.contact, metadata: parcel?.metadata }
}

/** A buyer's own order. Where the sale asks for nothing, nothing is read for it: buyers poll. */
export async function wireOwn(
  { catalog, parcelDesk }: EdgeContext,
  order: Order | Reservation,
): Promise<OwnOrderAnswer> {
  const sale = await catalog.find(order.sale)
  return sale?.contactFields === undefined ? wireOrder(order) : wireWith(order, await parcelDesk.read(order.id))
}

/** Before a payment begins: what the sale asks for must have been said. */
export async function demandContact(
  { parcels }: EdgeContext,
  order: Order | Reservation,
  { contactFields }: Pick<Sale, 'contactFields'>,
): Promise<void> {
  if (contactFields === undefined || order.state !== 'pending') return
  const missing = missingOf((await parcels.of([order.id])).get(order.id)?.contact, contactFields)
  if (missing.length === 0) return
  throw new ProblemError('contact_missing', `Say how you can be reached before you pay: ${missing.join(', ')}.`, {
    missing,
  })
}
