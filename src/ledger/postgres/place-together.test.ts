import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import type { PlaceReply } from '../orders.ts'
import type { Database } from './connection/database.ts'
import { placeTogether } from './place-together.ts'

const ledger = ledgerForFile()

const verdicts = (reply: PlaceReply) => (reply.status === 'stale' ? 'stale' : reply.placings.map(one => one.verdict))
const itemsOnSale = (count: number, units = 10) =>
  Promise.all(Array.from({ length: count }, () => ledger.openItem({ units })))

/** The same database, and which statements were run on it. */
function counting(database: Database = ledger.database) {
  const ran: string[] = []
  const run: Database['run'] = (name, values) => {
    ran.push(name)
    return database.run(name, values)
  }
  return { ran, place: placeTogether({ run }) }
}

test('batches of forty items at once: each answered as if placed alone, in a few statements', async () => {
  const items = await itemsOnSale(40, 2)
  const { ran, place } = counting()
  const replies = await Promise.all(
    items.map(({ item, epoch }, i) =>
      place(item, i === 7 ? epoch + 1 : epoch, false, [ledger.ask('ann'), ledger.ask('ben', 2), ledger.ask('cyd')]),
    ),
  )
  for (const [i, reply] of replies.entries())
    expect(verdicts(reply)).toEqual(i === 7 ? 'stale' : ['placed', 'refused', 'placed'])
  for (const [i, { sale }] of items.entries())
    expect(await ledger.units(sale)).toMatchObject(i === 7 ? { available: 2 } : { available: 0, pending: 2 })
  expect(ran.length).toBeLessThan(6)
  expect(ran).toContain('place_together')
})

test('a single batch is placed alone at once', async () => {
  const [one] = await itemsOnSale(1)
  const { ran, place } = counting()
  expect(verdicts(await place(one!.item, one!.epoch, false, [ledger.ask('ann')]))).toEqual(['placed'])
  expect(ran).toEqual(['place'])
})

test('an item that another transaction has locked delays no other, and is placed when it is free', async () => {
  const items = await itemsOnSale(12)
  const { place } = counting()
  const other = await ledger.database.connect()
  await other.query('BEGIN')
  const held = new Set([0, 1, 5, 9])
  for (const i of held) await other.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [items[i]!.item])
  const waiting: Promise<PlaceReply>[] = []
  const free: Promise<PlaceReply>[] = []
  for (const [i, { item, epoch }] of items.entries())
    (held.has(i) ? waiting : free).push(place(item, epoch, false, [ledger.ask('ann')]))
  for (const reply of await Promise.all(free)) expect(verdicts(reply)).toEqual(['placed'])
  // Those that are locked went alone and are stuck: later batches still get through.
  const [late] = await itemsOnSale(1)
  expect(verdicts(await place(late!.item, late!.epoch, false, [ledger.ask('ben')]))).toEqual(['placed'])
  await other.query('COMMIT')
  await other.end()
  for (const reply of await Promise.all(waiting)) expect(verdicts(reply)).toEqual(['placed'])
})

test('of one item the first batch is placed first, also when the first batch has to wait for the next call', async () => {
  const [alone, under, ahead, short] = await itemsOnSale(4, 600)
  const { ran, place } = counting()
  const batch = (name: string, size: number) => Array.from({ length: size }, (_, i) => ledger.ask(`${name}-${i}`))
  const replies = await Promise.all([
    place(alone!.item, alone!.epoch, true, batch('alone', 1)),
    place(under!.item, under!.epoch, true, batch('under way', 1)),
    place(ahead!.item, ahead!.epoch, true, batch('ahead', 500)),
    place(short!.item, short!.epoch, true, batch('first', 600)),
    place(short!.item, short!.epoch, true, batch('second', 10)),
  ])
  expect(ran).toContain('place_together')
  const kinds = replies.map(reply => [...new Set(verdicts(reply))])
  expect(kinds).toEqual([['placed'], ['placed'], ['placed'], ['placed'], ['refused']])
})

test('a call that hangs delays no later batch', async () => {
  const items = await itemsOnSale(6)
  let nowMs = 0
  const hanging = Promise.withResolvers<never>()
  let hung = 0
  const run: Database['run'] = (name, values) => {
    if (name !== 'place_together' || hung > 0) return ledger.database.run(name, values)
    hung += 1
    return hanging.promise
  }
  const placing = placeTogether({ run }, { ...systemClock, elapsed: () => nowMs })
  const ask = (i: number) => placing(items[i]!.item, items[i]!.epoch, false, [ledger.ask('ann')])
  const first = ask(0)
  await Promise.resolve()
  const stuck = ask(1)
  stuck.catch(() => {})
  await Promise.resolve()
  expect(hung).toBe(1)
  const waiting = ask(2)
  nowMs = 1_000
  for (const reply of await Promise.all([first, ask(3), waiting, ask(4), ask(5)]))
    expect(verdicts(reply)).toEqual(['placed'])
  hanging.reject(new Error('the test is over'))
  // It was not the cause: alone it is placed.
  expect(verdicts(await stuck)).toEqual(['placed'])
})

test('a name that the ledger can’t hold fails alone', async () => {
  const items = await itemsOnSale(8)
  const { ran, place } = counting()
  const replies = await Promise.allSettled(
    items.map(({ item, epoch }, i) => place(item, epoch, false, [ledger.ask(i === 6 ? 'nu\0l' : 'ann')])),
  )
  expect(ran).toContain('place_together')
  expect(replies.map(one => one.status)).toEqual(items.map((_, i) => (i === 6 ? 'rejected' : 'fulfilled')))
  for (const reply of replies) if (reply.status === 'fulfilled') expect(verdicts(reply.value)[0]).not.toBe('refused')
  for (const [i, { sale }] of items.entries())
    expect(await ledger.units(sale)).toMatchObject({ pending: i === 6 ? 0 : 1 })
})

test('the answer to a call for many is lost after its COMMIT: repeated, no buyer has two', async () => {
  const items = await itemsOnSale(6)
  const { proxy, database, close } = await ledger.overProxy(4)
  try {
    const { ran, place } = counting(database)
    proxy.cut('place_together', 0, ['reply'])
    const asks = items.map(() => [ledger.ask('ann'), ledger.ask('ben')])
    const replies = await Promise.all(items.map(({ item, epoch }, i) => place(item, epoch, false, asks[i]!)))
    expect(proxy.made).toBe(1)
    expect(ran).toContain('place_together')
    for (const reply of replies) expect(['placed,placed', 'same,same']).toContain(String(verdicts(reply)))
    expect(replies.map(verdicts).filter(one => String(one) === 'same,same').length).toBeGreaterThan(0)
    for (const { sale } of items) expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  } finally {
    await close()
  }
})

test('many items, many callers, duplicates and closings at once: never oversold, no deadlock', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.next() * n)
  const items = await itemsOnSale(20, 15)
  const { place } = counting()
  const placed: { item: string; order: string }[] = []
  const caller = async (nth: number) => {
    for (let round = 0; round < 25; round++) {
      const { item, epoch } = items[below(items.length)]!
      const asks = Array.from({ length: 1 + below(4) }, (_, i) =>
        ledger.ask(`buyer-${below(60)}-${i}`, 1, 1 + below(2)),
      )
      const reply = await place(item, epoch, true, asks)
      if (reply.status !== 'stale')
        for (const one of reply.placings) if (one.verdict === 'placed') placed.push({ item, order: one.order.id })
      const some = placed[below(placed.length)]
      if (nth % 3 === 0 && some !== undefined) await ledger.closings.close(some.item, [some.order], 'cancelled')
    }
  }
  await Promise.all(Array.from({ length: 24 }, (_, nth) => caller(nth)))
  for (const { sale } of items) {
    const { available, units, pending } = await ledger.units(sale)
    expect(available).toBeGreaterThanOrEqual(0)
    expect(available + pending).toBe(units)
  }
  const rows = await ledger.sql('SELECT count(*)::int AS n FROM orders WHERE id = ANY($1)', [
    placed.map(one => one.order),
  ])
  expect(rows[0]?.n).toBe(placed.length)
  expect(ledger.deadlocks()).toBe(0)
})
