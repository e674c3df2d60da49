/** A sale: with one item, that item large; with several, the sale's name and clock above a shelf of them. */

import { serverNow } from '../server-time.ts'
import type { Sale } from '../shapes.ts'
import { CrowdOffer } from './crowd-offer.tsx'
import { useMoment } from './hooks.ts'
import { Clock, ItemCard } from './item-card.tsx'

export function SaleView({ sale }: { readonly sale: Sale }) {
  const opensAtMs = Date.parse(sale.opensAt)
  useMoment(opensAtMs)
  const [only] = sale.items
  if (sale.items.length === 1 && only !== undefined)
    return (
      <>
        <ItemCard sale={sale} item={only} only />
        <CrowdOffer sale={sale} />
      </>
    )
  const opened = serverNow() >= opensAtMs
  return (
    <>
      <div class="sale-head">
        <h1 tabIndex={-1} dir="auto">
          {sale.name}
        </h1>
        <Clock sale={sale} opened={opened} />
      </div>
      <div class="shelf">
        {sale.items.map(item => (
          <ItemCard sale={sale} item={item} only={false} key={item.id} />
        ))}
      </div>
      <CrowdOffer sale={sale} />
    </>
  )
}
