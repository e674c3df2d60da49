import { describe, expect, test } from 'bun:test'
import { bareLiveItem } from '../../../test/harness/bare-live-item.ts'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { createIdMaker } from '../../base/snowflake.ts'
import type { Item } from '../../domain/item.ts'
import { createAcknowledgedReservations } from '../follow/acknowledged-reservations.ts'
import { createUnplacedReservations } from '../follow/unplaced-reservations.ts'
import { ClosedSeller } from './closed-seller.ts'
import { findOrder } from './find-orders.ts'
import { type LedgerSellContext, LedgerSeller } from './ledger-seller.ts'
import type { LiveItem, Registry } from './live-item.ts'
import type { Seller } from './seller.ts'
import { type SharedGateContext, SharedGateSeller } from './shared-gate-seller.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const DAY_MS = 86_400_000
const ids = createIdMaker({ clock: systemClock, node: 1, fromMs: 0, untilMs: systemClock.now() + DAY_MS })

/** An edge that has just begun: it has heard of nobody, so anybody may have an order. */
async function edge(saleId: string, change: (item: Item) => Item = item => item) {
  const sale = (await ledger.sales.find(saleId))!
  const registry: Registry = new Map()
  const acknowledged = createAcknowledgedReservations(10)
  const unplaced = createUnplacedReservations({ ...stage, ...ledger, registry, follows: () => true })
  const context = {
    gate: stage.gate,
    view: { knows: () => true, nowMs: () => systemClock.now(), statusNow: () => undefined },
    acknowledged,
    unplaced,
    clock: systemClock,
    fenceMs: 60_000,
  } as unknown as SharedGateContext & LedgerSellContext
  const makeSeller = (live: LiveItem): Seller => {
    if (live.door === 'gate') return new SharedGateSeller(context, live)
    return live.door === 'ledger' ? new LedgerSeller(context, live) : new ClosedSeller(context, live)
  }
  for (const one of sale.items) {
    const item = change(one)
    registry.set(item.id, bareLiveItem(sale, item, makeSeller))
  }
  const find = { orders: ledger.orders, registry, acknowledged, unplaced, clock: systemClock }
  return async (id: string, buyer = 'ann') => (await findOrder(find, id, buyer)).kind
}

async function openItem() {
  const { sale, item } = await stage.fresh({ units: 10 })
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  return { sale, item, epoch }
}

describe('an order that nobody has, on an edge that has heard of nobody', () => {
  test('is missing while the gate answers, and may be there while it does not', async () => {
    const { sale, item, epoch } = await openItem()
    const order = await stage.reserve(item, epoch, 'ann')
    const find = await edge(sale)
    expect(await find(order)).toBe('found')
    expect(await find(order, 'eve')).toBe('missing')
    expect(await find(ledger.id())).toBe('missing')
    stage.server.away = true
    expect(await find(ledger.id())).toBe('busy')
  })

  test('may be there during a rebuild, until everything that was reserved before it is in the ledger', async () => {
    const { sale, item, epoch } = await openItem()
    const node = await stage.holdingNode('another edge')
    await node.confirm(item, epoch)
    const order = await stage.reserve(item, epoch, 'ann')
    const raised = await ledger.rights.raiseEpoch(item)
    await stage.gate.fence(item, raised)
    const find = await edge(sale)
    expect([await find(order), await find(ledger.id())]).toEqual(['busy', 'busy'])
    await stage.worker('w', item).work()
    // The other edge may have acknowledged something that the gate has lost.
    expect([await find(order), await find(ledger.id())]).toEqual(['found', 'busy'])
    await node.confirm(item, raised)
    expect([await find(order), await find(ledger.id())]).toEqual(['found', 'missing'])
    // What waits in an outbox is looked into, not guessed.
    stage.put(item, epoch, [{ ...stage.ask('late'), reservedAtMs: systemClock.now() }])
    expect(await find(ledger.id())).toBe('busy')
    stage.server.away = true
    expect(await find(ledger.id())).toBe('busy')
  })

  test('may be there as long as a process is gone without a word', async () => {
    const { sale, item } = await openItem()
    const node = await stage.holdingNode('another edge')
    await stage.gate.fence(item, await ledger.rights.raiseEpoch(item))
    await node.lapse()
    const find = await edge(sale)
    expect(await find(ledger.id())).toBe('busy')
    await stage.nodes.settle(await ledger.rights.now())
    expect(await find(ledger.id())).toBe('missing')
  })

  test('may be there behind the ledger’s door, if an operator opened it while somebody’s last word was missing', async () => {
    const { sale, item } = await openItem()
    const node = await stage.holdingNode('another edge')
    const raised = await ledger.rights.raiseEpoch(item)
    await node.lapse()
    await ledger.rights.setDoor(item, raised, 'shut')
    expect(await ledger.rights.openLedgerDoor(item, 'olga')).toBe(true)
    const find = await edge(sale)
    expect(await find(ledger.id())).toBe('busy')
    await stage.nodes.settle(await ledger.rights.now())
    expect(await find(ledger.id())).toBe('missing')
  })

  test('is missing when its sale was forgotten by the gate', async () => {
    const { sale, item } = await openItem()
    const raised = await ledger.rights.raiseEpoch(item)
    await stage.gate.fence(item, raised)
    expect(await stage.outbox.forget(item)).toBe(true)
    await ledger.rights.setDoor(item, raised, 'shut')
    expect(await (await edge(sale))(ledger.id())).toBe('missing')
  })

  test('may be there long after its sale, as long as nobody could look into what the gate has of it', async () => {
    const { sale, item, epoch } = await openItem()
    const unfollowed = await edge(sale, one => ({ ...one, id: ids.next(), gateEpoch: 0 }))
    const order = await stage.reserve(item, epoch, 'ann')
    await ledger.sql(
      "UPDATE sales SET opens_at = now() - interval '3 hours', closes_at = now() - interval '61 minutes' WHERE id = $1",
      [sale],
    )
    stage.server.away = true
    expect(await unfollowed(order)).toBe('busy')
    stage.server.away = false
    // It is back, and nobody has placed it yet.
    expect(await unfollowed(order)).toBe('busy')
    await stage.worker('w', item).work()
    expect([await unfollowed(order), await unfollowed(ledger.id())]).toEqual(['found', 'missing'])
  })

  test('behind a gate that has lost its memory it may be there: what was acknowledged is not handed over yet', async () => {
    const { sale, item } = await openItem()
    stage.restartEmpty()
    expect((await stage.rights(item)).door).toBe('gate')
    expect(await (await edge(sale))(ledger.id())).toBe('busy')
  })

  test('is missing, whoever is away, if no clock can have made its id for any item on sale', async () => {
    const { sale } = await openItem()
    // The items of the tests before have ids that no clock has made; only sales that are over for long are looked into.
    await ledger.sql("UPDATE sales SET closes_at = now() + interval '1 hour'")
    const find = await edge(sale, item => ({ ...item, id: ids.next() }))
    stage.server.away = true
    expect(await find(ids.next())).toBe('busy')
    for (const id of ['1', '4711', '9223372036854775807']) expect(await find(id)).toBe('missing')
  })
})

test('an item of which all is known does not speak for one of which nobody can tell', async () => {
  const [known, silent] = [ledger.id(), ledger.id()]
  const answered = Promise.withResolvers<void>()
  const live = (id: string) => ({
    door: 'gate',
    item: { id, gateEpoch: 1 },
    seller: {
      knows: () => true,
      async find() {
        // Says that it can't tell while the other is still being read.
        if (id === silent) queueMicrotask(() => answered.resolve())
        return 'unknown'
      },
      async outstanding() {
        if (id === silent) return true
        await answered.promise
        await systemClock.sleep(1)
        return false
      },
    },
  })
  const found = findOrder(
    {
      orders: { find: async () => [] },
      acknowledged: { find: () => undefined },
      unplaced: { orphaned: async () => false },
      clock: systemClock,
      registry: new Map([known, silent].map(id => [id, live(id)])),
    } as unknown as Parameters<typeof findOrder>[0],
    ledger.id(),
    'ann',
  )
  expect(await found).toEqual({ kind: 'busy' })
})

test('a ledger that is gone meanwhile ends the search: no further item is asked about', async () => {
  let asked = 0
  const live = (id: string) => ({
    door: 'ledger',
    item: { id, gateEpoch: 1 },
    seller: {
      knows: () => true,
      async outstanding() {
        asked += 1
        throw new Fault('ledger_away', 'the ledger did not answer', { retryable: true })
      },
    },
  })
  const ITEMS = 100
  const found = findOrder(
    {
      orders: { find: async () => [] },
      acknowledged: { find: () => undefined },
      clock: systemClock,
      registry: new Map(Array.from({ length: ITEMS }, () => ledger.id()).map(id => [id, live(id)])),
    } as unknown as Parameters<typeof findOrder>[0],
    ledger.id(),
    'ann',
  )
  await expect(found).rejects.toMatchObject({ code: 'ledger_away' })
  expect(asked).toBeLessThan(ITEMS)
})
