import { readdirSync, readFileSync, renameSync } from 'node:fs'

const { STAMPEDE_SERVER: server, PARCELS_TOKEN: token } = process.env
for (const file of readdirSync('to-send').slice(0, Number(process.argv[2] ?? 100))) {
  const { id } = JSON.parse(readFileSync(`to-send/${file}`, 'utf8'))
  const response = await fetch(`${server}/api/admin/orders/${id}`, { headers: { authorization: `Bearer ${token}` } })
  const order = await response.json()
  if (!response.ok) throw new Error(order.detail)
  if (order.state !== 'paid') continue
  console.log(`${order.quantity} × ${order.item} to:\n${order.contact.name}\n${order.contact.address}\n`)
  renameSync(`to-send/${file}`, `sent/${file}`)
}
