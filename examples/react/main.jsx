import { createRoot } from 'react-dom/client'
import { Buy } from './buy.jsx'
import { useSale } from './use-sale.js'

/** `?sale=…` names the sale; without it the first that is published. */
const wanted = new URLSearchParams(location.search).get('sale')

function Shop() {
  const { sale, offsetMs } = useSale(wanted)
  if (sale === undefined) return <p>One moment…</p>
  return (
    <>
      <h1>{sale.name}</h1>
      {sale.items.map(item => (
        <Buy key={item.id} sale={sale} item={item} offsetMs={offsetMs} />
      ))}
    </>
  )
}

createRoot(document.getElementById('shop')).render(<Shop />)
