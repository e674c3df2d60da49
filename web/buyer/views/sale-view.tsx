/** A sale: its only item large, or its name and countdown above a grid of items. */

import { loadCrowd, loadReminder } from '../later-files.ts'
import type { Sale } from '../shapes.ts'
import { serverNow, serverTimeKnown } from '../sync/server-time.ts'
import { nameOf } from '../words.ts'
import { useMoment } from './hooks.ts'
import { Clock, ItemCard } from './item-card.tsx'
import { LaterPart } from './later-part.tsx'
import { WaitingLine } from './waiting-line.tsx'

/** What the SKUs of the server's demo items begin with. */
const DEMO_SKU = 'DEMO-'

export function SaleView({ sale }: { readonly sale: Sale }) {
  const opensAtMs = Date.parse(sale.opensAt)
  useMoment(opensAtMs)
  const [only] = sale.items
  const opened = serverNow() >= opensAtMs
  // Below everything: when it goes, at the opening, no button moves.
  const reminder = !opened && sale.state !== 'over' && serverTimeKnown() && (
    <LaterPart load={loadReminder} id={sale.id} />
  )
  if (sale.items.length === 1 && only !== undefined)
    return (
      <>
        <ItemCard sale={sale} item={only} only />
        {reminder}
        <CrowdOffer sale={sale} />
      </>
    )
  return (
    <>
      <div class="sale-head">
        <h1 tabIndex={-1} dir="auto">
          {nameOf(sale)}
        </h1>
        <Clock sale={sale} opened={opened} />
        <WaitingLine sale={sale} />
      </div>
      <div class="items">
        {sale.items.map(item => (
          <ItemCard sale={sale} item={item} only={false} key={item.id} />
        ))}
      </div>
      {reminder}
      <CrowdOffer sale={sale} />
    </>
  )
}

function CrowdOffer({ sale }: { readonly sale: Sale }) {
  const mayBeDemo = sale.items.some(item => item.sku?.startsWith(DEMO_SKU))
  return mayBeDemo ? <LaterPart load={loadCrowd} id={sale.id} /> : null
}
