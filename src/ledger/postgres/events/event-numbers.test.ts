import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { seededRandom, systemRandom } from '../../../base/random.ts'
import type { ShopEvent } from '../../../domain/shop-event.ts'
import { readerOf } from './events.fixture.ts'
import { createEventLog } from './events.ts'

const ledger = ledgerForFile()
const { numberAll, readAll, told, selling } = readerOf(ledger)
const DAY_MS = 86_400_000

describe('numbers', () => {
  test('a transaction that commits late gets the higher number: no cursor skips it', async () => {
    const on = await selling()
    const late = await ledger.database.connect()
    try {
      await late.query('BEGIN')
      await late.query(`SELECT note_events('item.back', ARRAY[$1::bigint], NULL, now())`, [on.item])
      const ask = ledger.ask('ann')
      await ledger.orders.place(on.item, on.epoch, false, [ask])
      expect(await told(on.since, on)).toEqual([`order.placed ${ask.order}`])
      const { newest } = await ledger.events.ends()
      await late.query('COMMIT')
      expect(await told(newest, on)).toEqual(['item.back'])
    } finally {
      await late.end()
    }
  })

  test('many that give numbers at once give each once, without a gap, while others write', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    const random = seededRandom(seed)
    const upTo = (most: number) => 1 + Math.floor(random.next() * most)
    const since = await numberAll()
    const items = await Promise.all(Array.from({ length: 4 }, () => ledger.openItem({ units: 1_000 })))
    const writers = items.map(async ({ item, epoch }) => {
      for (let n = 0; n < 25; n++) {
        const asks = Array.from({ length: upTo(4) }, () => ledger.ask(`buyer-${ledger.id()}`))
        await ledger.orders.place(item, epoch, false, asks)
        if (n % 3 === 0) await ledger.closings.close(item, [asks[0]!.order], 'cancelled')
      }
    })
    let writing = true
    const numberers = Array.from({ length: 3 }, async () => {
      while (writing) await ledger.events.number(upTo(5))
    })
    /** A reader with a cursor meets every number once, in order, while all this goes on. */
    const seen: ShopEvent[] = []
    const reader = (async () => {
      for (let last = since; writing; ) {
        const page = await ledger.events.read(last, 7)
        seen.push(...page.events)
        last = page.last
      }
    })()
    await Promise.all(writers)
    writing = false
    await Promise.all([...numberers, reader])
    const newest = await numberAll()
    seen.push(...(await readAll(seen.at(-1)?.number ?? since)))
    expect(
      seen.map(event => event.number),
      `seed ${seed}`,
    ).toEqual(Array.from({ length: newest - since }, (_, i) => since + 1 + i))
    const placed = new Set<string>()
    for (const event of seen) {
      if (!('order' in event)) continue
      if (event.type === 'order.placed') placed.add(event.order.id)
      else expect(placed.has(event.order.id), `order ${event.order.id} is closed after it was placed`).toBe(true)
    }
    const [{ orders } = {}] = await ledger.sql('SELECT count(*)::int AS orders FROM orders WHERE item = ANY ($1)', [
      items.map(one => one.item),
    ])
    expect(placed.size).toBe(orders as number)
  }, 60_000)

  test('how long the oldest event has waited for its number is known', async () => {
    const on = await selling()
    await ledger.orders.place(on.item, on.epoch, false, [ledger.ask('ann')])
    await ledger.orders.place(on.item, on.epoch, false, [ledger.ask('ben')])
    await ledger.sql(
      "UPDATE events SET at = at - interval '1 minute' WHERE first IS NULL AND items = ARRAY[$1::bigint]",
      [on.item],
    )
    expect((await ledger.events.ends()).waitingMs).toBeGreaterThanOrEqual(60_000)
    await numberAll()
    expect((await ledger.events.ends()).waitingMs).toBe(0)
  })

  test('numbering where nothing is new writes nothing', async () => {
    await numberAll()
    const head = () => ledger.sql('SELECT xmin, xmax, last FROM event_head')
    const before = await head()
    await ledger.events.number(100)
    await ledger.events.sweep(DAY_MS, 100)
    await ledger.events.noteClosingSoon(1, 100)
    expect(await head()).toEqual(before)
  })
})

test('numbers whose answer was lost are not given again', async () => {
  const on = await selling()
  const asks = [ledger.ask('ann'), ledger.ask('ben')]
  await ledger.orders.place(on.item, on.epoch, false, asks)
  const { proxy, database, close } = await ledger.overProxy(2)
  try {
    proxy.cut('number_events', 0, ['reply', 'query'])
    expect(await createEventLog(database).number(10)).toMatchObject({ newest: on.since + 2, rows: 0 })
    expect(proxy.made).toBe(2)
  } finally {
    await close()
  }
  expect(await told(on.since, on)).toEqual(asks.map(ask => `order.placed ${ask.order}`))
})
