/** A clock that was wrong for a moment and is right again must not keep an item off sale: "set the clocks right; it goes on by itself". */

import { afterEach, expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { startTestLedger } from '../../../test/harness/money-ledger.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { createFaultyGate } from '../../gate/contract/faulty-gate.ts'
import { RedisGate } from '../../gate/redis/redis-gate.ts'
import { takeOrder } from '../sell/take-order.ts'
import { createClockComparison } from './clock-comparison.ts'

const HOUR_MS = 3_600_000
const ITEM = '77'

const playground = new Playground()
afterEach(() => playground.undo())

test('a gate whose clock was an hour ahead for a moment sells again when it is set right, in every process', async () => {
  const server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  const off = { ms: 0 }
  const gate = new RedisGate(connection, () => off.ms)
  const nowMs = systemClock.now()
  await gate.load(ITEM, 1, [])
  const terms = { left: 5, held: 0, buyers: 0, attemptsMax: 3, changeNo: 0, stateNo: 0, state: 'open' } as const
  await gate.activate(ITEM, 1, { ...terms, opensAtMs: nowMs - HOUR_MS, closesAtMs: nowMs + HOUR_MS / 2 })

  // As the follow loop does it.
  async function skewedMs(by = gate): Promise<number | undefined> {
    const clocks = createClockComparison()
    const sentAtMs = systemClock.elapsed()
    const reply = await by.status([ITEM])
    const answeredAtMs = systemClock.elapsed()
    clocks.gate(reply.clockMs ?? reply.nowMs, sentAtMs, answeredAtMs, reply.behindMs)
    clocks.ledger(systemClock.now(), sentAtMs, systemClock.elapsed())
    return clocks.skewedMs(systemClock.elapsed())
  }

  expect(await skewedMs()).toBeUndefined()
  off.ms = HOUR_MS
  // The comparison is as exact as the reading was quick.
  await until('the hour is seen', async () => ((await skewedMs()) ?? 0) > HOUR_MS - 2_000)
  // An ask was judged by it before it was noticed.
  expect((await gate.reserve(ITEM, 1, [])).status).toBe('over')
  off.ms = 0
  expect(await skewedMs(), 'the process that saw it').toBeUndefined()
  expect(await skewedMs(new RedisGate(connection)), 'a process that starts afterwards').toBeUndefined()
  // It ends in half an hour: it was over for that moment only.
  expect((await gate.reserve(ITEM, 1, [])).status).toBe('ok')
  expect((await gate.status([ITEM])).nowMs).toBeLessThan(nowMs + HOUR_MS / 2)
})

test('an edge that saw the wrong clock calls nothing over by it: set right, it sells', async () => {
  const ledger = await startTestLedger()
  playground.onUndo(() => ledger.stop())
  const cluster = openCluster(ledger)
  const { item } = await cluster.openItem()
  const off = { ms: 9_000 * HOUR_MS }
  let lastMs = 0
  const edge = cluster.edge({
    gate: real => ({
      ...createFaultyGate(real, () => undefined),
      status: async items => {
        const reply = await real.status(items)
        const clockMs = reply.nowMs + off.ms
        // It never goes back, as the contract says.
        lastMs = Math.max(lastMs, clockMs)
        return { ...reply, nowMs: lastMs, clockMs }
      },
    }),
  })
  await edge.round()
  expect(edge.liveItem(item).seller.standing()?.kind).toBe('busy')
  off.ms = 0
  await edge.round()
  expect(edge.liveItem(item).seller.standing()).toBeUndefined()
  expect((await takeOrder(edge.context, edge.liveItem(item), { buyer: 'ann', attempt: 1, quantity: 1 })).kind).toBe(
    'reserved',
  )
}, 300_000)

test('an edge that has learned a wrong clock while the ledger was silent sells with the first reading that is right', async () => {
  const ledger = await startTestLedger()
  playground.onUndo(() => ledger.stop())
  const cluster = openCluster(ledger)
  const { item } = await cluster.openItem()
  const off = { ms: 0 }
  const silent = { on: false }
  const edge = cluster.edge({
    gate: real => ({
      ...createFaultyGate(real, () => undefined),
      status: async items => {
        const reply = await real.status(items)
        return { ...reply, clockMs: reply.nowMs + off.ms }
      },
    }),
    sales: real => ({
      followed: () =>
        silent.on ? Promise.reject(new Fault('ledger_away', 'nobody answers', { retryable: true })) : real.followed(),
    }),
  })
  await edge.round()
  silent.on = true
  off.ms = 9_000 * HOUR_MS
  // So long that the ledger's clock is not known any more.
  cluster.clock.jump(6_000)
  await edge.round()
  expect(edge.liveItem(item).seller.standing()?.kind).toBe('over')
  silent.on = false
  off.ms = 0
  await edge.round()
  expect(edge.liveItem(item).seller.standing()).toBeUndefined()
  expect((await takeOrder(edge.context, edge.liveItem(item), { buyer: 'ann', attempt: 1, quantity: 1 })).kind).toBe(
    'reserved',
  )
}, 300_000)
