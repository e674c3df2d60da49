import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { take } from './shelf.mjs'

const { STAMPEDE_SERVER: server, PARCELS_TOKEN: token } = process.env
const PAUSE_MS = 2_000
const OVERLAP_MS = 60_000

async function ask(path) {
  const response = await fetch(server + path, { headers: { authorization: `Bearer ${token}` } })
  const body = await response.json()
  if (!response.ok) throw Object.assign(new Error(body.detail), { code: body.code })
  return body
}

async function* orders(query) {
  for (let after = ''; after !== null; ) {
    const page = await ask(`/api/admin/orders?${new URLSearchParams({ ...query, after, limit: 500 })}`)
    yield* page.orders
    after = page.next
  }
}

async function takeChanges(since) {
  const { now } = await ask('/api/time')
  let last = since
  try {
    for await (const order of orders({ updatedAfter: since })) {
      take(order)
      last = order.updatedAt
    }
  } catch (error) {
    if (error.code !== 'cursor_expired') throw error
    for await (const order of orders({ state: 'paid' })) take(order)
    last = now
  }
  return last
}

function kept() {
  try {
    return readFileSync('since', 'utf8')
  } catch {
    return '1970-01-01T00:00:00.000Z'
  }
}

console.log(`asking for orders at url: ${server}`)
for (;;) {
  try {
    const last = await takeChanges(kept())
    // Written aside and renamed: a program that dies here finds the old time or the new one.
    writeFileSync('since.new', new Date(Math.max(0, Date.parse(last) - OVERLAP_MS)).toISOString())
    renameSync('since.new', 'since')
  } catch (error) {
    console.error(`${error.message}; asking again`)
  }
  await setTimeout(PAUSE_MS)
}
