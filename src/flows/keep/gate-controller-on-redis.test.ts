import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { KeeperStage } from '../../../test/harness/cluster-keeper.ts'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { RedisGate } from '../../gate/redis/redis-gate.ts'
import { createRedisOutbox } from '../../gate/redis/redis-outbox.ts'
import { createShardCounts } from '../../gate/sharded/shard-counts.ts'
import { createShardedOutbox } from '../../gate/sharded/sharded-outbox.ts'
import { auditItems } from '../check/audit-sale.ts'
import { createGateView } from '../check/gate-view.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)
let redis: RedisServer
const playground = new Playground()
const opened: { stop(): Promise<void> }[] = []
beforeAll(async () => {
  redis = await startRedis(playground)
}, 300_000)
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})
afterAll(() => playground.undo())

/** Keeper and worker at the real thing, round by round. */
async function open(wish: Parameters<KeeperStage['fresh']>[0] = {}) {
  const { sale, item } = await stage.fresh(wish)
  const connection = await connect(playground, redis.url, { timeoutMs: 5_000 })
  const gate = new RedisGate(connection)
  const counts = createShardCounts()
  counts.learn(item, { shards: 1, epoch: 0, gateShards: 1 })
  const outbox = createShardedOutbox(createRedisOutbox(connection), gate, counts)
  const keeper = stage.keeper({ gate, outbox, fenceMs: 100, gateDownMs: 300 })
  const worker = stage.worker(`worker of ${item}`, item, { outbox })
  opened.push({
    async stop() {
      keeper.right.held = false
      await keeper.idle()
      await worker.stop()
    },
  })
  return {
    sale,
    item,
    gate,
    outbox,
    keeper,
    worker,
    /** Rounds of both, until the gate sells under an epoch above this one. */
    untilSold: (above: number) =>
      until('the gate sells it', async () => {
        await keeper.round()
        // To its end: a look into the outbox that is still under way would place what is reserved next.
        await worker.work()
        const right = await stage.rights(item)
        return right.door === 'gate' && right.epoch > above ? right : undefined
      }),
    async reserve(epoch: number, buyers: readonly string[]) {
      const asks = buyers.map(buyer => stage.ask(buyer))
      const reply = await gate.reserve(item, epoch, asks)
      if (!('answers' in reply)) throw new Error(`reserve answered ${reply.status}`)
      expect(reply.answers.map(answer => answer.code)).toEqual(asks.map(() => 'reserved'))
      return asks.map(ask => ask.order)
    },
    async audit() {
      const found = await ledger.sales.find(sale)
      const parts = {
        reconciliation: ledger.reconciliation,
        view: createGateView(gate, outbox, new Map()),
        clock: systemClock,
      }
      return (await auditItems(parts, found!))[0]
    },
  }
}

test('put on sale, reserved, placed, and forgotten by a FLUSHALL: rebuilt with everything that was sold', async () => {
  const shop = await open()
  const { epoch } = await shop.untilSold(0)
  expect(epoch).toBe(1)
  const orders = await shop.reserve(epoch, ['ann', 'ben'])
  expect(await shop.audit()).toMatchObject({ available: 10, gate: { left: 8, held: 2 }, outbox: 2, consistent: true })
  await shop.worker.work()
  expect((await ledger.orders.find(orders)).map(order => order.state)).toEqual(['pending', 'pending'])
  expect(await shop.audit()).toMatchObject({ available: 8, gate: { left: 8, held: 2 }, outbox: 0, consistent: true })

  await redis.command('FLUSHALL')
  const rebuilt = await shop.untilSold(epoch)
  expect(rebuilt.epoch).toBe(2)
  expect(await shop.audit()).toMatchObject({ gate: { left: 8, held: 2 }, consistent: true })
}, 300_000)

test('killed and back on its own disk: what was reserved and not placed gets its row before the gate opens again (E1, E4)', async () => {
  const shop = await open()
  const { epoch } = await shop.untilSold(0)
  const orders = await shop.reserve(epoch, ['ann'])
  await redis.kill()
  await redis.start()
  await until('the client is back', async () =>
    shop.gate.status([]).then(
      () => true,
      () => false,
    ),
  )
  const rebuilt = await shop.untilSold(epoch)
  expect(await ledger.orders.find(orders)).toMatchObject([{ state: 'pending' }])
  expect((await shop.gate.status([shop.item])).items).toMatchObject([{ epoch: rebuilt.epoch, left: 9, held: 1 }])
  expect(shop.worker.alarms).toEqual([])
}, 300_000)

test('away for good: the ledger sells; back: the gate does, with the units of both (E10)', async () => {
  const shop = await open()
  const { epoch } = await shop.untilSold(0)
  const orders = await shop.reserve(epoch, ['ann'])
  await redis.kill()
  const { epoch: direct } = await shop.keeper.untilDoor(shop.item, 'ledger')
  expect(await ledger.orders.placeDirectly(shop.item, direct, [ledger.ask('ben', 2)])).toMatchObject({ status: 'ok' })
  expect(await shop.audit()).toMatchObject({ gate: undefined, consistent: true })
  await redis.start()
  await shop.untilSold(direct)
  expect(await ledger.orders.find(orders)).toMatchObject([{ state: 'pending' }])
  expect(await shop.audit()).toMatchObject({ available: 7, gate: { left: 7, held: 3 }, consistent: true })
}, 300_000)

test('poison holds up nobody there either', async () => {
  const shop = await open()
  const { epoch } = await shop.untilSold(0)
  const [ann, bad, cyd] = await shop.reserve(epoch, ['ann', 'b\0d', 'cyd'])
  await shop.worker.work()
  expect((await ledger.orders.find([ann!, bad!, cyd!])).map(order => order.buyer).toSorted()).toEqual(['ann', 'cyd'])
  expect(shop.worker.alarms).toEqual(['dead_letter'])
  expect(await shop.audit()).toMatchObject({ available: 8, gate: { left: 8, held: 2 }, outbox: 0, consistent: true })
}, 300_000)

test('a sale that is over leaves no key behind once its outbox is empty', async () => {
  const shop = await open()
  const { epoch } = await shop.untilSold(0)
  await shop.reserve(epoch, ['ann'])
  expect(await shop.outbox.forget(shop.item)).toBe(false)
  await shop.worker.work()
  await shop.worker.stop()
  expect(await shop.outbox.forget(shop.item)).toBe(true)
  const keys = (await redis.command('KEYS', `*${shop.item}*`)) as readonly unknown[]
  expect(keys).toEqual([])
}, 300_000)
