import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import type { PlaceAsk, PlaceReply } from '../orders.ts'

const ledger = ledgerForFile()

const verdicts = (reply: PlaceReply) => (reply.status === 'ok' ? reply.placings.map(one => one.verdict) : reply.status)
const rowsOf = (item: string) =>
  ledger.sql('SELECT id::text, buyer, state, reason, quantity FROM orders WHERE item = $1 ORDER BY id', [item])

describe('placing', () => {
  test('the same ids again are the same orders, with no second effect', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const asks = [ledger.ask('ann', 2), ledger.ask('ben')]
    expect(verdicts(await ledger.orders.place(item, epoch, false, asks))).toEqual(['placed', 'placed'])
    const again = await ledger.orders.place(item, epoch, false, [...asks, ledger.ask('cyd')])
    expect(verdicts(again)).toEqual(['same', 'same', 'placed'])
    expect(again).toMatchObject({
      available: 6,
      placings: [{ order: { buyer: 'ann', quantity: 2, state: 'pending' } }, {}, {}],
    })
    expect(await ledger.units(sale)).toMatchObject({ available: 6, pending: 4 })
  })

  test('an order that was closed meanwhile comes back closed, and buys nothing', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const asks = [ledger.ask('ann')]
    await ledger.orders.place(item, epoch, false, asks)
    await ledger.closings.close(item, [asks[0]?.order ?? ''], 'cancelled')
    expect(await ledger.orders.place(item, epoch, false, asks)).toMatchObject({
      placings: [{ verdict: 'same', order: { state: 'closed', reason: 'cancelled' } }],
    })
    expect(await ledger.units(sale)).toMatchObject({ available: 10, pending: 0, releases: 1 })
  })

  test("another buyer's id is an id conflict and writes nothing, from before or from the same batch", async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const first = ledger.ask('ann')
    await ledger.orders.place(item, epoch, false, [first])
    expect(verdicts(await ledger.orders.place(item, epoch, false, [{ ...first, buyer: 'eve' }]))).toEqual([
      'id_conflict',
    ])
    const second = ledger.ask('ben')
    const batch = [second, { ...second, buyer: 'eve' }, second]
    expect(verdicts(await ledger.orders.place(item, epoch, false, batch))).toEqual(['placed', 'id_conflict', 'same'])
    expect((await rowsOf(item)).map(row => row.buyer)).toEqual(['ann', 'ben'])
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('the first asks are placed when not all fit; the others are refused by a row of their own', async () => {
    const { sale, item, epoch } = await ledger.openItem({ units: 4 })
    const asks = [ledger.ask('ann', 3), ledger.ask('ben', 2), ledger.ask('cyd', 1), ledger.ask('dan', 1)]
    const reply = await ledger.orders.place(item, epoch, false, asks)
    expect(verdicts(reply)).toEqual(['placed', 'refused', 'placed', 'refused'])
    expect(await rowsOf(item)).toMatchObject([
      { buyer: 'ann', state: 'pending' },
      { buyer: 'ben', state: 'closed', reason: 'refused' },
      { buyer: 'cyd', state: 'pending' },
      { buyer: 'dan', state: 'closed', reason: 'refused' },
    ])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 4 })
    // The same again finds the same rows, refusals too.
    expect(verdicts(await ledger.orders.place(item, epoch, false, asks))).toEqual(['same', 'same', 'same', 'same'])
  })

  test('a buyer with a live order, or who has used this attempt, gets a refusal that names the existing order', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const first = ledger.ask('ann')
    const twin = ledger.ask('ann')
    const reply = await ledger.orders.place(item, epoch, false, [first, twin])
    expect(reply).toMatchObject({
      placings: [{ verdict: 'placed' }, { verdict: 'refused', order: { supersededBy: first.order } }],
    })
    await ledger.closings.close(item, [first.order], 'cancelled')
    const used = await ledger.orders.place(item, epoch, false, [ledger.ask('ann')])
    expect(used).toMatchObject({ placings: [{ verdict: 'refused', order: { supersededBy: first.order } }] })
    expect(verdicts(await ledger.orders.place(item, epoch, false, [ledger.ask('ann', 1, 2)]))).toEqual(['placed'])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('a refusal does not count as an attempt', async () => {
    const { item, epoch } = await ledger.openItem({ units: 1 })
    const first = ledger.ask('ann')
    await ledger.orders.place(item, epoch, false, [first])
    expect(verdicts(await ledger.orders.place(item, epoch, false, [ledger.ask('ben')]))).toEqual(['refused'])
    expect(await ledger.orders.ofBuyers([{ item, buyer: 'ben' }])).toEqual([])
    await ledger.closings.close(item, [first.order], 'cancelled')
    expect(verdicts(await ledger.orders.place(item, epoch, false, [ledger.ask('ben')]))).toEqual(['placed'])
  })

  test('quantities out of range are refused, whatever the gate let pass', async () => {
    const { sale, item, epoch } = await ledger.openItem({ units: 100, quantityMax: 3 })
    const asks = [ledger.ask('ann', 4), ledger.ask('ben', 0), ledger.ask('cyd', -2), ledger.ask('dan', 3)]
    expect(verdicts(await ledger.orders.place(item, epoch, false, asks))).toEqual([
      'refused',
      'refused',
      'refused',
      'placed',
    ])
    expect(await ledger.units(sale)).toMatchObject({ available: 97, pending: 3 })
  })

  test('E5: an older epoch places nothing; what was acknowledged under it gets the row it has, or a refusal', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const placed = ledger.ask('ann')
    await ledger.orders.place(item, epoch, false, [placed])
    const next = await ledger.rebuild(item)
    const late = ledger.ask('ben')
    expect(await ledger.orders.place(item, epoch, false, [placed, late])).toEqual({ status: 'stale' })
    expect((await rowsOf(item)).length).toBe(1)
    expect(verdicts(await ledger.orders.place(item, epoch, true, [placed, late]))).toEqual(['same', 'refused'])
    expect(verdicts(await ledger.orders.place(item, next, false, [ledger.ask('ben')]))).toEqual(['placed'])
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('E7: an acknowledged duplicate gets a refusal that names the existing order, and a ghost never blocks the real one', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const ghost = ledger.ask('ann')
    const next = await ledger.rebuild(item)
    // AcknowledgedReservations under an epoch whose tail was lost: refused by a row, and the buyer can still buy with this very attempt.
    expect(await ledger.orders.place(item, epoch, true, [ghost])).toMatchObject({
      placings: [{ verdict: 'refused', order: { id: ghost.order, reason: 'refused', supersededBy: undefined } }],
    })
    const real = ledger.ask('ann')
    expect(verdicts(await ledger.orders.place(item, next, true, [real]))).toEqual(['placed'])
    const late = ledger.ask('ann')
    expect(await ledger.orders.place(item, epoch, true, [late, ghost])).toMatchObject({
      placings: [
        { verdict: 'refused', order: { id: late.order, supersededBy: real.order, epoch } },
        { verdict: 'same', order: { id: ghost.order, reason: 'refused' } },
      ],
    })
    // Handed over by an edge and found in the outbox: the second time it is the same, whichever comes first.
    expect(verdicts(await ledger.orders.place(item, next, true, [real, late]))).toEqual(['same', 'same'])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('a collision in a large batch does not read every order of the item', async () => {
    const { sale, item, epoch } = await ledger.openItem({ units: 200_000 })
    for (let i = 0; i < 40; i++)
      await ledger.orders.place(
        item,
        epoch,
        false,
        Array.from({ length: 500 }, (_, j) => ledger.ask(`crowd-${i}-${j}`)),
      )
    const batch = Array.from({ length: 500 }, (_, i) => ledger.ask(`late-${i}`))
    const [told] = await ledger.sql(
      'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT odd FROM place($1, $2, true, $3, $4, $5, $6, $7)',
      [
        item,
        epoch,
        [ledger.id(), ...batch.map(ask => ask.order)],
        ['crowd-1-1', ...batch.map(ask => ask.buyer)],
        ...Array.from({ length: 3 }, () => Array(501).fill(1)),
      ],
    )
    const [explained] = (told?.['QUERY PLAN'] ?? []) as { readonly Plan: Record<string, number> }[]
    // Rows and index entries of 501 orders, a few pages each; the partition itself has hundreds of pages, and would be read for each.
    expect(explained?.Plan['Shared Hit Blocks']).toBeLessThan(40_000)
    expect(await ledger.units(sale)).toMatchObject({ pending: 20_500 })
  })
})

describe('refusing what can not be placed for a reason of its own', () => {
  test('its order is born closed; again, it is the same; nothing is taken', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const ask = ledger.ask('ann', 2)
    const first = await ledger.orders.refuse(item, epoch, ask)
    expect(first).toMatchObject({ id: ask.order, sale, buyer: 'ann', state: 'closed', reason: 'refused', epoch })
    expect(await ledger.orders.refuse(item, epoch, ask)).toEqual(first)
    expect(verdicts(await ledger.orders.place(item, epoch, true, [ask]))).toEqual(['same'])
    expect(await ledger.units(sale)).toMatchObject({ available: 10, pending: 0 })
  })

  test('an existing order under this id stays as it is, and one of this buyer is named', async () => {
    const { sale, item, epoch } = await ledger.openItem()
    const ask = ledger.ask('ann')
    await ledger.orders.place(item, epoch, true, [ask])
    expect(await ledger.orders.refuse(item, epoch, ask)).toMatchObject({ id: ask.order, state: 'pending' })
    expect(await ledger.orders.refuse(item, epoch, ledger.ask('ann', 1, 2))).toMatchObject({
      reason: 'refused',
      supersededBy: ask.order,
    })
    expect(await ledger.orders.refuse(item, epoch, { ...ask, buyer: 'eve' })).toBeUndefined()
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('whatever is wrong with it: the refusal is written, or there is none, and nothing breaks', async () => {
    const { item, epoch } = await ledger.openItem()
    const odd = { ...ledger.ask('ann'), attempt: -1, quantity: 1e12, reservedAtMs: Number.NaN }
    expect(await ledger.orders.refuse(item, epoch, odd)).toMatchObject({ attempt: 1, quantity: 2 ** 31 - 1 })
    for (const wrong of [
      { buyer: 'a\0b' },
      { buyer: '' },
      { buyer: 'x'.repeat(5_000) },
      { order: 'x1' },
      { order: '0' },
    ])
      expect(await ledger.orders.refuse(item, epoch, { ...ledger.ask('ben'), ...wrong })).toBeUndefined()
    expect(await ledger.orders.refuse(ledger.id(), epoch, ledger.ask('ann')), 'no such item').toBeUndefined()
  })
})

test('batches, closings and rebuilds at random, many at once: units add up, no buyer has two live orders, nothing deadlocks', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 32)
  console.log(`  seed ${seed}`)
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random.next() * n)
  const { sale, item, epoch } = await ledger.openItem({ units: 60, quantityMax: 4 })
  let current = epoch
  const all: PlaceAsk[] = []
  const step = async () => {
    const what = random.next()
    if (what < 0.05) current = await ledger.rebuild(item)
    else if (what < 0.4)
      await ledger.closings.close(
        item,
        all
          .slice(below(all.length + 1))
          .slice(0, 20)
          .map(ask => ask.order),
        'cancelled',
      )
    else {
      const asks = Array.from({ length: 1 + below(20) }, () =>
        ledger.ask(`buyer-${below(80)}`, 1 + below(4), 1 + below(3)),
      )
      all.push(...asks)
      const old = all.length > 40 ? all.slice(below(all.length - 5)).slice(0, 3) : []
      await ledger.orders.place(item, current, random.next() < 0.5, [...asks, ...old])
    }
  }
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 8 }, step))
    expect(await ledger.units(sale)).toMatchObject({ units: 60 })
  }
  const twice = await ledger.sql(
    "SELECT buyer FROM orders WHERE item = $1 AND state <> 'closed' GROUP BY buyer HAVING count(*) > 1",
    [item],
  )
  expect(twice).toEqual([])
  expect(ledger.deadlocks()).toBe(0)
})
