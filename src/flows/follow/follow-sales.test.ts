import { describe, expect, test } from 'bun:test'
import { FENCE_MS, openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { nextTurn } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { createFaultyGate } from '../../gate/contract/faulty-gate.ts'
import type { Sales } from '../../ledger/sales.ts'
import { takeOrder } from '../sell/take-order.ts'

const ledger = ledgerForFile()

const away = () => Promise.reject(new Fault('ledger_away', 'nobody answers', { retryable: true }))
const never = new Promise<never>(() => {})
const click = (buyer: string) => ({ buyer, attempt: 1, quantity: 1 })

describe('E2: only what the ledger showed within the fence is acknowledged', () => {
  test('without a fresh read nobody is sold to, however well the gate answers; a read opens it again', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const trouble = { on: false }
    const edge = cluster.edge({ sales: real => ({ followed: () => (trouble.on ? away() : real.followed()) }) })
    await edge.round()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('reserved')
    trouble.on = true
    cluster.clock.jump(FENCE_MS + 1)
    await edge.round()
    expect(edge.following.ledgerSilentMs()).toBeGreaterThan(FENCE_MS)
    // The look is fresh: it is the fence alone that says no.
    expect(edge.liveItem(item).seller.standing()).toBeUndefined()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('bob'))).kind).toBe('busy')
    expect(await cluster.gate.find(item, 'bob')).toMatchObject({ holdings: [] })
    trouble.on = false
    await edge.round()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('bob'))).kind).toBe('reserved')
  })

  test('a reply that comes after the fence has lapsed is not passed on, nor remembered as acknowledged', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async reserve(...call) {
          const reply = await real.reserve(...call)
          cluster.clock.jump(FENCE_MS + 1)
          return reply
        },
      }),
    })
    await edge.round()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('busy')
    expect(edge.acknowledged.size()).toBe(0)
    expect(edge.waiters.expected()).toBe(0)
    // The units stay held, and asking again finds them.
    expect(await cluster.gate.find(item, 'ann')).toMatchObject({ holdings: [{ live: true }] })
  })

  test('is counted from when the read was sent, not from when it was answered', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const reading: { slowMs: number; away: boolean } = { slowMs: 0, away: false }
    const edge = cluster.edge({
      sales: real => ({
        async followed() {
          if (reading.away) return away()
          const read = await real.followed()
          cluster.clock.jump(reading.slowMs)
          return read
        },
      }),
    })
    await edge.round()
    reading.slowMs = FENCE_MS + 1
    await edge.round()
    // A fresh look, so that only the fence is in the way.
    reading.away = true
    await edge.round()
    expect(edge.liveItem(item).seller.standing()).toBeUndefined()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('busy')
  })

  test('a reply under an epoch that the ledger has meanwhile called over is not passed on', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async reserve(...call) {
          const reply = await real.reserve(...call)
          await cluster.raiseEpoch(item)
          await edge.round()
          return reply
        },
      }),
    })
    await edge.round()
    const old = edge.liveItem(item)
    expect((await takeOrder(edge.context, old, click('ann'))).kind).toBe('busy')
    expect(old.current).toBe(false)
    expect(edge.acknowledged.size()).toBe(0)
  })
})

describe('the two halves of a round', () => {
  test('a gate that never answers does not stop the ledger from being read, nor the fence from being renewed', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const silent = { on: false }
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        status: items => (silent.on ? never : real.status(items)),
      }),
    })
    await edge.round()
    silent.on = true
    const before = edge.liveItem(item).seenAtMs
    for (let i = 0; i < 2; i++) await edge.round()
    expect(edge.liveItem(item).seenAtMs).toBeGreaterThan(before)
  })

  test('a ledger that never answers does not stop the looks; an answer older than the last one is not believed', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const late = Promise.withResolvers<Awaited<ReturnType<Sales['followed']>>>()
    const answer = { now: undefined as typeof late.promise | undefined }
    const edge = cluster.edge({ sales: real => ({ followed: () => answer.now ?? real.followed() }) })
    await edge.round()
    const next = await cluster.raiseEpoch(item)
    const draining = await ledger.sales.followed()
    answer.now = late.promise
    await edge.round()
    await cluster.activate(item, next)
    await cluster.gate.reserve(item, next, [{ ...ledger.ask('zoe'), askedAtMs: 0 }])
    answer.now = undefined
    await edge.round()
    expect(edge.liveItem(item)).toMatchObject({ epoch: next, door: 'gate', current: true })
    late.resolve(draining)
    await new Promise<void>(nextTurn)
    expect(edge.liveItem(item)).toMatchObject({ epoch: next, door: 'gate', current: true })
    expect(edge.cache.statusNow(item)?.left).toBe(9)
  })

  test('items that the ledger does not list any more are dropped', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    const old = edge.liveItem(item)
    await cluster.openItem()
    await edge.round()
    expect(edge.registry.has(item)).toBe(false)
    expect(old.current).toBe(false)
  })
})

describe('who is told what while nobody sells', () => {
  test('draining is busy, shut before the opening is early, shut after the end is over', async () => {
    const cluster = openCluster(ledger)
    const { item, sale } = await cluster.openItem()
    const edge = cluster.edge()
    const epoch = await cluster.raiseEpoch(item)
    await edge.round()
    expect(edge.liveItem(item).seller.standing()?.kind).toBe('busy')
    await ledger.rights.setDoor(item, epoch, 'shut')
    await ledger.sql(
      "UPDATE sales SET opens_at = now() + interval '10 minutes', warm_before_ms = 1800000 WHERE id = $1",
      [sale],
    )
    await edge.round()
    expect(edge.liveItem(item).seller.standing()?.kind).toBe('early')
    await ledger.sql(
      "UPDATE sales SET opens_at = now() - interval '10 minutes', closes_at = now() - interval '5 minutes' WHERE id = $1",
      [sale],
    )
    await edge.round()
    expect(edge.liveItem(item).seller.standing()?.kind).toBe('over')
  })

  test("a gate's clock more than a second off the ledger's fences the item, and it is alarmed once", async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    // Far beyond the bound: a clock is known only as well as its answer is quick. `clock-comparison.test.ts` has the bound itself.
    const ahead = { ms: 60_000 }
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        status: async items => {
          const reply = await real.status(items)
          return { ...reply, nowMs: reply.nowMs + ahead.ms }
        },
      }),
    })
    for (let i = 0; i < 3; i++) await edge.round()
    expect(edge.alarms).toEqual(['gate_clock_skew'])
    expect(edge.liveItem(item).seller.standing()?.kind).toBe('busy')
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('busy')
    ahead.ms = 500
    await edge.round()
    expect(edge.liveItem(item).skewed).toBe(false)
  })
})

describe('the filter of who has an order', () => {
  test('is reloaded from the books when it misses somebody, and then tells strangers apart', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    await cluster.gate.reserve(item, epoch, [{ ...ledger.ask('ann'), askedAtMs: 0 }])
    const edge = cluster.edge()
    // One round and no more: when the machine is slow the edge's own goes again, and the second of them may reload already.
    await edge.following.round()
    expect(edge.cache.knows(item, 'stranger')).toBe(true)
    await until('the filter is whole', async () => {
      await edge.round()
      return !edge.cache.knows(item, 'stranger')
    })
    expect(edge.cache.knows(item, 'ann')).toBe(true)
  })
})
