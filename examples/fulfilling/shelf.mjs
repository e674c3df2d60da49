import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'

for (const folder of ['to-send', 'sent', 'stopped']) mkdirSync(folder, { recursive: true })

/** Once for each order, however often it is called: a file appears whole or not at all, and never twice. */
export function take(order) {
  if (order.state === 'closed') stop(order)
  if (order.state !== 'paid' || isSent(order.id)) return
  const draft = `.${order.id}.${process.pid}`
  writeFileSync(draft, JSON.stringify(order, null, 2))
  try {
    linkSync(draft, `to-send/${order.id}.json`)
    console.log(`a parcel for ${order.contact?.name ?? order.buyer}: ${order.id}`)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
}

/** Refunded before it was sent: it stays here. */
function stop({ id }) {
  try {
    renameSync(`to-send/${id}.json`, `stopped/${id}.json`)
    console.log(`stopped: ${id}`)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

const isSent = id => readdirSync('sent').includes(`${id}.json`)
