import { StampedeClient } from 'stampede-client'

const url = process.env.STAMPEDE_SERVER
for (const name of process.argv.slice(2)) {
  const client = new StampedeClient({ url })
  await client.signInAsGuest(name)
  const [sale] = await client.sales()
  const contact = { name, address: '1 Main Street\nSpringfield' }
  const order = await client.buy(sale.id, sale.items[0].id, { contact, metadata: { gift: 'no' } })
  const { payUrl } = await client.pay(order.id)
  await fetch(`${payUrl}/approve`, { method: 'POST' })
  console.log(`${name} has paid ${order.id}`)
}
