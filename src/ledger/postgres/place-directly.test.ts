import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { ItemWish } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import type { DirectReply, PlaceAsk } from '../orders.ts'
import { createOrders } from './orders.ts'

const ledger = ledgerForFile()

const verdicts = (reply: DirectReply) => (reply.status === 'stale' ? 'stale' : reply.placings.map(one => one.verdict))
const rowsOf = (item: string) =>
  ledger.sql('SELECT id::text, buyer, state, reason, epoch::int FROM orders WHERE item = $1 ORDER BY id', [item])

/** An item behind the door `ledger`. */
async function behindLedgerDoor(wish: ItemWish = {}) {
  const made = await ledger.openItem(wish)
  await ledger.rights.setDoor(made.item, made.epoch, 'ledger')
  return made
}

const direct = (item: string, epoch: number, ...asks: PlaceAsk[]) => ledger.orders.placeDirectly(item, epoch, asks)

describe('behind the door `ledger`', () => {
  test('the first asks are placed; one that does not fit is refused, and leaves no row', async () => {
    const { sale, item, epoch } = await behindLedgerDoor({ units: 4 })
    const asks = [ledger.ask('ann', 3), ledger.ask('ben', 2), ledger.ask('cyd'), ledger.ask('dan')]
    const reply = await direct(item, epoch, ...asks)
    expect(verdicts(reply)).toEqual(['placed', 'not_enough', 'placed', 'not_enough'])
    expect(reply).toMatchObject({
      status: 'ok',
      available: 0,
      placings: [{ order: { id: asks[0]?.order, state: 'pending', epoch, quantity: 3 } }, {}, {}, {}],
    })
    expect((await rowsOf(item)).map(row => row.buyer)).toEqual(['ann', 'cyd'])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 4 })
    // A refused buyer may repeat the same attempt when units are available again.
    await ledger.closings.close(item, [asks[2]?.order ?? ''], 'cancelled')
    expect(verdicts(await direct(item, epoch, ledger.ask('dan')))).toEqual(['placed'])
  })

  test('a whole batch that fits is placed at once, with what its orders share', async () => {
    const { sale, item, epoch } = await behindLedgerDoor()
    const asks = [ledger.ask('ann', 2), ledger.ask('ben')]
    const reply = await direct(item, epoch, ...asks)
    expect(verdicts(reply)).toEqual(['placed', 'placed'])
    const found = await ledger.orders.find(asks.map(ask => ask.order))
    const answered = reply.status === 'stale' ? [] : reply.placings.flatMap(one => ('order' in one ? [one.order] : []))
    const byId = (a: { id: string }, b: { id: string }) => Number(a.id) - Number(b.id)
    expect(answered.toSorted(byId)).toEqual(found.toSorted(byId))
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
    expect(await direct(item, epoch)).toEqual({ status: 'ok', available: 7, placings: [] })
  })

  test('the same id, the same attempt, or a live order of any attempt: that order, and nothing more is taken', async () => {
    const { sale, item, epoch } = await behindLedgerDoor()
    const first = ledger.ask('ann')
    await direct(item, epoch, first)
    const again = await direct(item, epoch, first, ledger.ask('ann', 4), ledger.ask('ann', 1, 2), ledger.ask('ben'))
    expect(verdicts(again)).toEqual(['same', 'same', 'same', 'placed'])
    for (const i of [0, 1, 2]) expect(again).toHaveProperty(`placings.${i}.order.id`, first.order)
    await ledger.closings.close(item, [first.order], 'cancelled')
    // A late duplicate of a closed attempt buys nothing; the next attempt does. Then each attempt has its own order.
    expect(await direct(item, epoch, ledger.ask('ann'))).toMatchObject({
      placings: [{ verdict: 'same', order: { id: first.order, state: 'closed', reason: 'cancelled' } }],
    })
    const second = ledger.ask('ann', 1, 2)
    expect(verdicts(await direct(item, epoch, second))).toEqual(['placed'])
    const each = await direct(item, epoch, ledger.ask('ann', 1, 1), ledger.ask('ann', 1, 2), ledger.ask('ann', 1, 3))
    expect(each).toMatchObject({
      placings: [
        { verdict: 'same', order: { id: first.order } },
        { verdict: 'same', order: { id: second.order } },
        { verdict: 'same', order: { id: second.order } },
      ],
    })
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('twice in one batch is once: the same id, the same buyer, and an id that another buyer brings along', async () => {
    const { sale, item, epoch } = await behindLedgerDoor()
    const ann = ledger.ask('ann')
    const ben = ledger.ask('ben')
    const reply = await direct(item, epoch, ann, ann, ledger.ask('ann'), ben, { ...ben, buyer: 'eve' })
    expect(verdicts(reply)).toEqual(['placed', 'same', 'same', 'placed', 'id_conflict'])
    expect(verdicts(await direct(item, epoch, { ...ann, buyer: 'eve' }))).toEqual(['id_conflict'])
    expect((await rowsOf(item)).map(row => row.buyer)).toEqual(['ann', 'ben'])
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('attempts and quantities out of range are refused without a row, and do not spoil the batch', async () => {
    const { sale, item, epoch } = await behindLedgerDoor({ units: 100, quantityMax: 3, attemptsMax: 2 })
    const reply = await direct(
      item,
      epoch,
      ledger.ask('ann', 1, 3),
      ledger.ask('ben', 4),
      ledger.ask('cyd', 0),
      ledger.ask('dan', -2),
      ledger.ask('eve', 1, 0),
      ledger.ask('fay', 3, 2),
    )
    const refused = ['attempts_used', 'not_enough', 'not_enough', 'not_enough', 'attempts_used'] as const
    expect(verdicts(reply)).toEqual([...refused, 'placed'])
    expect(await ledger.units(sale)).toMatchObject({ available: 97, pending: 3 })
  })

  test('a refusal from another time does not count as an attempt, and does not block', async () => {
    const { item, epoch } = await behindLedgerDoor({ units: 1 })
    const refused = await ledger.orders.refuse(item, epoch, ledger.ask('ann'))
    expect(refused).toMatchObject({ state: 'closed', reason: 'refused' })
    expect(verdicts(await direct(item, epoch, ledger.ask('ann')))).toEqual(['placed'])
  })
})

describe('E5: door and epoch are judged under the item lock', () => {
  test('every other door and every other epoch is stale, and nothing is written', async () => {
    const { sale, item, epoch } = await behindLedgerDoor()
    for (const door of ['gate', 'draining', 'shut'] as const) {
      await ledger.rights.setDoor(item, epoch, door)
      expect(await direct(item, epoch, ledger.ask('ann'))).toEqual({ status: 'stale' })
    }
    await ledger.rights.setDoor(item, epoch, 'ledger')
    for (const other of [epoch - 1, epoch + 1])
      expect(await direct(item, other, ledger.ask('ann'))).toEqual({ status: 'stale' })
    const next = await ledger.rights.raiseEpoch(item)
    await ledger.rights.setDoor(item, next, 'ledger')
    expect(await direct(item, epoch, ledger.ask('ann'))).toEqual({ status: 'stale' })
    expect(verdicts(await direct(item, next, ledger.ask('ann')))).toEqual(['placed'])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('a batch that waited for the lock while a keeper took the item is stale; one that waited while the window closed is over', async () => {
    const { item, epoch } = await behindLedgerDoor()
    const waiting = async (change: string, values: unknown[]) => {
      const other = await ledger.database.connect()
      try {
        await other.query('BEGIN')
        await other.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [item])
        const placing = direct(item, epoch, ledger.ask('ann'))
        await until('the placing waits for the lock', async () => {
          const [row] = await ledger.sql(
            "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
          )
          return row?.n === 1
        })
        await other.query(change, values)
        await other.query('COMMIT')
        return await placing
      } finally {
        await other.end()
      }
    }
    const closed = await waiting(
      'UPDATE sales SET closes_at = clock_timestamp() WHERE id = (SELECT sale FROM items WHERE id = $1)',
      [item],
    )
    expect(closed).toMatchObject({ status: 'over', placings: [{ verdict: 'not_now' }] })
    expect(await waiting("UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1", [item])).toEqual({
      status: 'stale',
    })
    expect(await rowsOf(item)).toEqual([])
  })

  test('what was acknowledged at the gate before still gets its row, beside what the ledger sells', async () => {
    const { sale, item, epoch } = await ledger.openItem({ units: 2 })
    const next = await ledger.rights.raiseEpoch(item)
    await ledger.rights.setDoor(item, next, 'ledger')
    expect(verdicts(await direct(item, next, ledger.ask('ann')))).toEqual(['placed'])
    const reply = await ledger.orders.place(item, epoch, true, [
      ledger.ask('ben'),
      ledger.ask('cyd'),
      ledger.ask('ann'),
    ])
    expect(reply).toMatchObject({ placings: [{ verdict: 'placed' }, { verdict: 'refused' }, { verdict: 'refused' }] })
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 2 })
  })
})

describe("the window is judged by the ledger's clock", () => {
  const moments = [
    ['early', "opens_at = clock_timestamp() + interval '1 minute', closes_at = clock_timestamp() + interval '1 hour'"],
    ['over', "opens_at = clock_timestamp() - interval '1 hour', closes_at = clock_timestamp()"],
    ['over', "state = 'over'"],
    ['paused', "state = 'paused'"],
    ['over', "state = 'paused', opens_at = clock_timestamp() - interval '1 hour', closes_at = clock_timestamp()"],
    ['early', "state = 'paused', opens_at = clock_timestamp() + interval '1 minute'"],
  ] as const
  for (const [status, change] of moments)
    test(`${status} (${change.split(' = ')[0]}): no new order; a buyer who has one gets it`, async () => {
      const { sale, item, epoch } = await behindLedgerDoor()
      const ann = ledger.ask('ann')
      const ben = ledger.ask('ben')
      await direct(item, epoch, ann, ben)
      await ledger.closings.close(item, [ben.order], 'cancelled')
      await ledger.sql(`UPDATE sales SET ${change} WHERE id = $1`, [sale])
      const reply = await direct(item, epoch, ledger.ask('ann'), ledger.ask('ben'), ledger.ask('cyd'), ann)
      expect(reply).toMatchObject({
        status,
        available: 9,
        placings: [
          { verdict: 'same', order: { id: ann.order, state: 'pending' } },
          { verdict: 'same', order: { id: ben.order, state: 'closed' } },
          { verdict: 'not_now' },
          { verdict: 'same', order: { id: ann.order } },
        ],
      })
      expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
    })
})

test('a COMMIT whose answer is lost: repeated, the same orders, taken once', async () => {
  const { sale, item, epoch } = await behindLedgerDoor()
  const { proxy, database, close } = await ledger.overProxy(2)
  try {
    proxy.cut('place_directly', 0, ['reply'])
    const reply = await createOrders(database).placeDirectly(item, epoch, [ledger.ask('ann', 2), ledger.ask('ben')])
    expect(proxy.made).toBe(1)
    expect(verdicts(reply)).toEqual(['same', 'same'])
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
  } finally {
    await close()
  }
})

test('eight callers at once, with duplicates, closings and doors being set: never oversold, one live order each, no deadlock', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.next() * n)
  const { sale, item, epoch } = await behindLedgerDoor({ units: 40, quantityMax: 3 })
  let current = epoch
  const placed: string[] = []
  const seen = new Map<string, number>()
  const step = async () => {
    const what = random.next()
    if (what < 0.06) {
      current = await ledger.rights.raiseEpoch(item)
      await ledger.rights.setDoor(item, current, 'ledger')
    } else if (what < 0.35) {
      const some = placed.slice(below(placed.length + 1)).slice(0, 5)
      await ledger.closings.close(item, some, 'cancelled')
    } else {
      const asks = Array.from({ length: 1 + below(12) }, () =>
        ledger.ask(`buyer-${below(60)}`, 1 + below(3), 1 + below(3)),
      )
      const reply = await direct(item, current, ...asks)
      for (const verdict of verdicts(reply)) seen.set(verdict, (seen.get(verdict) ?? 0) + 1)
      if (reply.status === 'stale') return
      for (const one of reply.placings) if (one.verdict === 'placed') placed.push(one.order.id)
    }
  }
  for (let i = 0; i < 25; i++) {
    await Promise.all(Array.from({ length: 8 }, step))
    expect(await ledger.units(sale)).toMatchObject({ units: 40 })
  }
  for (const verdict of ['placed', 'same', 'not_enough']) expect(seen.get(verdict) ?? 0).toBeGreaterThan(0)
  const rows = await rowsOf(item)
  expect(rows.filter(row => row.reason === 'refused')).toEqual([])
  expect(rows.map(row => row.id).toSorted()).toEqual(placed.toSorted())
  expect(ledger.deadlocks()).toBe(0)
})
