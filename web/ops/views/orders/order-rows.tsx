/** Orders as a table. */

import { formatCount, formatMoney, formatTime } from '../../format.ts'
import type { Order, Sale } from '../../shapes.ts'
import { words } from '../../words.ts'
import { OrderBadge } from '../controls/badge.tsx'

export function OrderRows({ orders, sale }: { readonly orders: readonly Order[]; readonly sale: Sale | undefined }) {
  const text = words()
  const items = sale !== undefined && sale.items.length > 1 ? sale.items : undefined
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col">{text.order}</th>
          <th scope="col">{text.buyer}</th>
          {items !== undefined && <th scope="col">{text.itemWord}</th>}
          <th scope="col">{text.state}</th>
          <th scope="col">{text.quantity}</th>
          <th scope="col">{text.amount}</th>
          <th scope="col">{text.ordered}</th>
        </tr>
      </thead>
      <tbody>
        {orders.map(order => (
          <tr key={order.id} data-order={order.id}>
            <td>
              <a href={`/ops/orders/${order.id}`}>{order.id}</a>
            </td>
            <td class="long" dir="auto">
              {order.buyer}
            </td>
            {items !== undefined && (
              <td class="long" dir="auto" data-of-item={order.item}>
                {items.find(item => item.id === order.item)?.name ?? order.item}
              </td>
            )}
            <td>
              <OrderBadge order={order} />
            </td>
            <td>{formatCount(order.quantity)}</td>
            <td>{formatMoney(order.amount)}</td>
            <td>
              <time dateTime={order.reservedAt}>{formatTime(order.reservedAt)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
