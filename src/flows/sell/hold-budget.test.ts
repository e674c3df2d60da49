import { afterAll, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import type { HoldCounts } from '../../admission/hold-counts.ts'
import { createHoldKeys } from '../../admission/hold-keys.ts'
import { MemoryHoldCounts } from '../../admission/holds/memory-hold-counts.ts'
import { createRedisHoldCounts } from '../../admission/redis/redis-hold-counts.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { HoldLimits } from '../../domain/hold-limits.ts'
import type { Order } from '../../domain/order.ts'
import type { Holds } from '../../ledger/holds.ts'
import { createHolds } from '../../ledger/postgres/holds.ts'
import { HoldBudget } from './hold-budget.ts'
import type { LiveItem } from './live-item.ts'

const NETWORK = '203.0.113.0/24'

const ledger = ledgerForFile()
const playground = new Playground()
afterAll(() => playground.undo())

async function openItem(holds: HoldLimits) {
  const { sale, item, epoch } = await ledger.openItem()
  const live = { sale: { id: sale, holds }, item: { id: item, payWithinMs: 900_000 } } as unknown as LiveItem
  return { live, holds, epoch }
}

type Shop = Awaited<ReturnType<typeof openItem>>

function openEdge(
  shop: Shop,
  shared?: HoldCounts,
  elapsed = systemClock.elapsed,
  holds: Holds = createHolds(ledger.database),
) {
  const counted: string[] = []
  const clock = { elapsed }
  const budget = new HoldBudget({
    shared,
    own: new MemoryHoldCounts(clock),
    keys: createHoldKeys('a secret of more than 16 bytes'),
    holds,
    defaults: undefined,
    registry: new Map([[shop.live.item.id, shop.live]]),
    clock,
    meters: { count: (family: string, which: string) => counted.push(`${family} ${which}`) } as never,
  })
  const take = (buyer: string, network: string | undefined = NETWORK, quantity = 1) =>
    budget.take(shop.live, shop.holds, { buyer, attempt: 1, quantity, marks: undefined, network })
  return { budget, counted, take }
}

type Edge = ReturnType<typeof openEdge>

/** One ask from counting to the order's row, as an edge does it. */
async function buy(shop: Shop, edge: Edge, buyer: string): Promise<Order | undefined> {
  const held = await edge.take(buyer)
  if (held === undefined) return undefined
  const reply = await ledger.orders.place(shop.live.item.id, shop.epoch, false, [ledger.ask(buyer)])
  const placing = reply.status === 'ok' ? reply.placings[0] : undefined
  if (placing?.verdict !== 'placed') throw new Error(`not placed: ${JSON.stringify(reply)}`)
  edge.budget.settle(shop.live, held, { kind: 'placed', order: placing.order })
  return placing.order
}

const redisCounts = async (url: string) =>
  // However slow this machine is: without an answer an edge counts alone.
  createRedisHoldCounts({
    connection: await connect(playground, url),
    clock: { ...systemClock, sleep: () => new Promise<void>(() => {}) },
  })

test('edges that ask at once take no more than the limit together, and the same attempt on another edge is no second hold', async () => {
  const { url } = await startRedis(playground, { config: ['appendonly no'] })
  const shop = await openItem({ perPrefix: 7 })
  const edges = [openEdge(shop, await redisCounts(url)), openEdge(shop, await redisCounts(url))]
  const taken = await Promise.all(Array.from({ length: 40 }, (_, no) => edges[no % 2]!.take(`buyer-${no}`)))
  const held = taken.flatMap((one, no) => (one === undefined ? [] : [no]))
  expect(held.length).toBe(7)
  expect(await edges[(held[0]! + 1) % 2]!.take(`buyer-${held[0]}`)).toBeDefined()
  expect(edges[0]!.counted.concat(edges[1]!.counted)).toEqual(Array(33).fill('hold_refusals prefix'))
})

test('while Redis is away each edge counts from what the ledger has, and when it is back it has what was sold meanwhile', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const shop = await openItem({ perPrefix: 4 })
  const edges = [openEdge(shop, await redisCounts(server.url)), openEdge(shop, await redisCounts(server.url))]
  const [one, two] = edges as [Edge, Edge]
  for (const buyer of ['a', 'b']) expect(await buy(shop, one, buyer)).toBeDefined()
  await one.budget.round()
  await server.stop()
  // Two in the ledger: each edge takes two more, and not four.
  for (const [edge, name] of [
    [one, 'one'],
    [two, 'two'],
  ] as const) {
    const bought = []
    for (let no = 0; no < 5; no++) bought.push(await buy(shop, edge, `${name}-${no}`))
    expect(bought.filter(Boolean).length).toBeLessThanOrEqual(2)
    expect(edge.counted).toContain('hold_counts alone')
    await edge.budget.round()
  }
  const [rows] = await ledger.sql('SELECT count(*)::int AS count FROM orders WHERE item = $1', [shop.live.item.id])
  expect(Number(rows!.count)).toBeLessThanOrEqual(2 + 2 * 2)

  const back = await startRedis(playground, { config: ['appendonly no'] })
  const again = openEdge(shop, await redisCounts(back.url))
  // Empty: read from the ledger before the first ask is judged.
  expect(await again.take('late')).toBeUndefined()
  expect(await again.take('late', '198.51.100.0/24')).toBeDefined()
})

test('an ask whose process was killed before its answer counts for ten seconds, an order without a written origin for its buyer', async () => {
  const shop = await openItem({ perBuyer: 1, perPrefix: 2 })
  let nowMs = 0
  const first = openEdge(shop, undefined, () => nowMs)
  // Killed between counting and the gate: nothing was taken.
  expect(await first.take('lost', NETWORK)).toBeDefined()
  // Killed between the ledger's commit and the write of where it came from.
  expect(await buy(shop, first, 'ann')).toBeDefined()
  expect(await first.take('bob')).toBeUndefined()
  nowMs += 10_000
  expect(await first.take('bob')).toBeDefined()

  const second = openEdge(shop)
  // The ledger knows whose order it is, and not from where: of this network two more are taken, not three.
  const other = { ...shop, live: { ...shop.live, item: { ...shop.live.item, id: '9' } } as unknown as LiveItem }
  expect(await openEdge(other).take('ann')).toBeUndefined()
  expect(await second.take('cid')).toBeDefined()
  expect(await second.take('dan')).toBeDefined()
  expect(await second.take('eve')).toBeUndefined()
})

test('a paid order makes room, one that ended unpaid does not, also when its end was heard by no edge', async () => {
  const shop = await openItem({ perPrefix: 2 })
  const edge = openEdge(shop)
  const [ann, bob] = [await buy(shop, edge, 'ann'), await buy(shop, edge, 'bob')]
  await edge.budget.round()
  edge.budget.orderChanged({ ...ann!, state: 'paid' })
  await edge.budget.round()
  const cid = await edge.take('cid')
  expect(cid).toBeDefined()
  edge.budget.settle(shop.live, cid!, { kind: 'sold_out' })
  const [closed] = await ledger.closings.close(bob!.item, [bob!.id], 'cancelled')
  edge.budget.orderChanged(closed!)
  await edge.budget.round()
  expect(await edge.take('dan')).toBeDefined()
  expect(await edge.take('eve')).toBeUndefined()

  // Another process reads the same from the ledger: one is open there still, one ended unpaid.
  const other = openEdge(shop)
  expect(await other.take('fay')).toBeUndefined()
})

test('a ledger that does not answer refuses no ask: it is asked again for the next one', async () => {
  const shop = await openItem({ perPrefix: 1 })
  const edge = openEdge(shop)
  const holds = createHolds(ledger.database)
  let away = true
  const budget = new HoldBudget({
    shared: undefined,
    own: new MemoryHoldCounts(systemClock),
    keys: createHoldKeys('a secret of more than 16 bytes'),
    holds: {
      ...holds,
      async ofSale(...asked) {
        if (away) throw new Fault('ledger_away', 'the ledger does not answer', { retryable: true })
        return holds.ofSale(...asked)
      },
    },
    defaults: undefined,
    registry: new Map(),
    clock: systemClock,
    meters: { count() {} } as never,
  })
  expect(await buy(shop, edge, 'ann')).toBeDefined()
  await edge.budget.round()
  const ask = { buyer: 'bob', attempt: 1, quantity: 1, marks: undefined, network: NETWORK }
  expect(await budget.take(shop.live, shop.holds, ask)).toBeDefined()
  away = false
  expect(await budget.take(shop.live, shop.holds, { ...ask, buyer: 'cid' })).toBeUndefined()
})

test('an order that is paid while the ledger is being read does not count for the rest of its time to pay', async () => {
  const shop = await openItem({ perPrefix: 1 })
  const before = openEdge(shop)
  const ann = await buy(shop, before, 'ann')
  await before.budget.round()
  const read = Promise.withResolvers<void>()
  const shown = Promise.withResolvers<void>()
  const holds = createHolds(ledger.database)
  const late = openEdge(shop, undefined, systemClock.elapsed, {
    ...holds,
    async ofSale(...asked) {
      const standing = await holds.ofSale(...asked)
      shown.resolve()
      await read.promise
      return standing
    },
  })
  const taking = late.take('bob')
  await shown.promise
  late.budget.orderChanged({ ...ann!, state: 'paid' })
  await late.budget.round()
  read.resolve()
  expect(await taking).toBeDefined()
})

test('an order that is paid while Redis does not answer makes room when it does', async () => {
  const { url } = await startRedis(playground, { config: ['appendonly no'] })
  const shop = await openItem({ perPrefix: 1 })
  const counts = await redisCounts(url)
  let away = false
  const edge = openEdge(shop, { ...counts, keep: async (...asked) => !away && counts.keep(...asked) })
  const ann = await buy(shop, edge, 'ann')
  await edge.budget.round()
  away = true
  edge.budget.orderChanged({ ...ann!, state: 'paid' })
  await edge.budget.round()
  expect(await edge.take('bob')).toBeUndefined()
  away = false
  await edge.budget.round()
  expect(await edge.take('bob')).toBeDefined()
})

test('an ask that another edge refuses lets go nothing of the order that the same attempt has got meanwhile', async () => {
  const { url } = await startRedis(playground, { config: ['appendonly no'] })
  const shop = await openItem({ perPrefix: 1 })
  const [one, other] = [openEdge(shop, await redisCounts(url)), openEdge(shop, await redisCounts(url))]
  const asked = await other.take('ann')
  await buy(shop, one, 'ann')
  await one.budget.round()
  other.budget.settle(shop.live, asked!, { kind: 'sold_out' })
  await other.budget.round()
  expect(await other.take('bob')).toBeUndefined()
  // Alone it makes room at once.
  const alone = await openItem({ perPrefix: 1 })
  const third = openEdge(alone, await redisCounts(url))
  third.budget.settle(alone.live, (await third.take('cid'))!, { kind: 'sold_out' })
  await third.budget.round()
  expect(await third.take('dan')).toBeDefined()
})
