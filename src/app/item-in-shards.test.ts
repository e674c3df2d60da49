/** One item in several shards, and what becomes of it and of its neighbours when one of its shards is not like the others. */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../test/harness/flow-stage.ts'
import { Playground } from '../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../test/harness/redis.ts'
import { until } from '../../test/harness/until.ts'
import { systemClock } from '../base/clock.ts'
import { connect } from '../base/redis/connection.fixture.ts'
import { RedisGate } from '../gate/redis/redis-gate.ts'
import { createRedisOutbox } from '../gate/redis/redis-outbox.ts'
import { createShardCounts } from '../gate/sharded/shard-counts.ts'
import type { ShardGate } from '../gate/sharded/shard-gate.ts'
import { ShardedGate } from '../gate/sharded/sharded-gate.ts'
import { createShardedOutbox } from '../gate/sharded/sharded-outbox.ts'
import { learnShards } from './compose-shards.ts'

const SHARDS = 4

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

/** A keeper at one Redis with two items: one in several shards, and a neighbour in one. */
async function open() {
  const { sale, item } = await stage.fresh({ units: 16 * SHARDS, shards: SHARDS })
  const { item: neighbour } = await ledger.openItem()
  await ledger.sql("UPDATE items SET epoch = 0, gate_epoch = 0, door = 'shut' WHERE id = $1", [neighbour])
  const connection = await connect(playground, redis.url, { timeoutMs: 10_000 })
  const shardGate = new RedisGate(connection)
  const lost = new Set<string>()
  const some: Pick<ShardGate, 'activate'> = {
    activate: async (shard, ...terms) =>
      lost.delete(shard) ? { status: 'unknown' } : shardGate.activate(shard, ...terms),
  }
  const counts = createShardCounts()
  const gate = new ShardedGate(overlaid(shardGate, some), counts, systemClock)
  const outbox = createShardedOutbox(createRedisOutbox(connection), shardGate, counts)
  const learning = learnShards(ledger, counts)
  const { sales } = learning
  const doors = new Set<string>()
  const name = (one: string) => (one === item ? 'item' : 'neighbour')
  // What the keeper itself does to a door is written down as it does it: between two readings a door may be shut and open again.
  const rights: typeof ledger.rights = {
    ...learning.rights,
    async raiseEpoch(one) {
      const epoch = await ledger.rights.raiseEpoch(one)
      doors.add(`${name(one)} draining`)
      return epoch
    },
    async setDoor(one, epoch, door) {
      const done = await ledger.rights.setDoor(one, epoch, door)
      if (done) doors.add(`${name(one)} ${door}`)
      return done
    },
  }
  // A gate that is away for a moment, because the machine stands still, is not down yet.
  const keeper = stage.keeper({ gate, outbox, sales, rights, fenceMs: 100, gateDownMs: 5_000 })
  opened.push({
    async stop() {
      keeper.right.held = false
      await keeper.idle()
    },
  })
  return {
    sale,
    item,
    neighbour,
    gate,
    keeper,
    /** The activation of this shard is lost once, as if the keeper that builds the gate died just then. */
    lose: (place: string) => void lost.add(place),
    /** Every door that was seen, or turned, since, of either. */
    doors,
    untilSold: (which: string, above: number) =>
      until(`item ${which} is sold by the gate`, async () => {
        await keeper.round()
        let sold: Awaited<ReturnType<typeof stage.rights>> | undefined
        for (const one of [item, neighbour]) {
          const right = await stage.rights(one)
          doors.add(`${name(one)} ${right.door}`)
          if (one === which && right.door === 'gate' && right.epoch > above) sold = right
        }
        return sold
      }),
  }
}

/** The same gate, but for some verbs. */
function overlaid(gate: ShardGate, some: Partial<ShardGate>): ShardGate {
  return new Proxy(gate, {
    get: (target, verb) => {
      const found = Reflect.get(some, verb) ?? Reflect.get(target, verb)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}

test('a gate that was activated in some shards only is built anew at once; its neighbours on the same server stay on sale', async () => {
  const { item, neighbour, lose, doors, untilSold } = await open()
  const { epoch } = await untilSold(item, 0)
  const beside = await untilSold(neighbour, 0)
  doors.clear()
  lose(`${item}#2`)
  await ledger.rights.raiseEpoch(item)
  await untilSold(item, epoch + 2)
  expect([...doors].toSorted()).toEqual(['item draining', 'item gate', 'neighbour gate'])
  expect(await stage.rights(neighbour)).toMatchObject({ door: 'gate', epoch: beside.epoch })
}, 300_000)

test('one shard of several is lost: the item is built anew, and the ledger need not sell it meanwhile', async () => {
  const { item, neighbour, doors, untilSold } = await open()
  const { epoch } = await untilSold(item, 0)
  await untilSold(neighbour, 0)
  doors.clear()
  await redis.command('DEL', `{${item}#1}:gate`)
  await untilSold(item, epoch)
  expect([...doors].toSorted()).toEqual(['item draining', 'item gate', 'neighbour gate'])
}, 300_000)

test('few units are not brought together while a process may have died: only when all have renewed their leases, or lapsed', async () => {
  const { item } = await stage.fresh({ units: 16, shards: 2 })
  const keeper = stage.keeper(stage.sharded().parts)
  const { epoch } = await keeper.untilDoor(item, 'gate')
  const living = await stage.nodes.lease('living', systemClock.now(), 'holding')
  const dead = await stage.holdingNode('dead')
  const renew = () => stage.nodes.renew(living.node, 'living', systemClock.now())
  await stage.reserve(item, epoch, 'ann')
  await stage.worker('worker', item).work()
  for (let i = 0; i < 3; i++) {
    await keeper.round()
    const readMs = systemClock.now()
    await until('a moment has passed', () => systemClock.now() > readMs + 1)
    await renew()
  }
  await keeper.idle()
  expect(await stage.rights(item)).toMatchObject({ epoch, door: 'gate' })
  await dead.lapse()
  await keeper.round()
  await until('the item is taken for another epoch', async () => (await stage.rights(item)).epoch > epoch)
  await stage.nodes.confirm(living.node, 'living', [{ item, epoch: epoch + 1 }])
  await keeper.untilDoor(item, 'gate')
}, 300_000)
