/** A keeper's round where nothing is to be done costs the same for 1,000 items as for 100; what happens is noticed as soon as before. */

import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import type { Gate } from '../../gate/gate.ts'
import { QuietGates } from './quiet-gates.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)
let first = 8_000_000_000

/** A keeper whose items are all on sale. It counts what it reads of each item: of the ledger's list, and of the gate. */
async function openMany(count: number) {
  const { sale, item } = await stage.fresh()
  first += 10_000
  await ledger.sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms)
     SELECT $3::bigint + n, $1, n, 'one of many', 1000, 'CNY', 10, 10, 1, 1, 60000 FROM generate_series(1, $2::int) n`,
    [sale, count - 1, first],
  )
  const seen = { planned: 0, asked: 0 }
  /** Items whose gate was deleted from outside. */
  const lost = new Set<string>()
  const gate: Gate = {
    ...stage.gate,
    async status(items) {
      seen.asked += items.length
      const reply = await stage.gate.status(items)
      return { ...reply, items: reply.items.filter(status => !lost.has(status.item)) }
    },
  }
  const keeper = stage.keeper({
    gate,
    homeDoorOf(one) {
      seen.planned += 1
      return one.homeDoor
    },
  })
  const behind = async (door: string) =>
    Number((await ledger.sql('SELECT count(*) FROM items WHERE sale = $1 AND door = $2', [sale, door]))[0]?.count)
  await until('all are on sale', async () => {
    await keeper.round()
    await keeper.idle()
    return (await behind('gate')) === count
  })
  await until('nothing is to be done', async () => {
    seen.planned = 0
    await keeper.round()
    return seen.planned === 0
  })
  return { keeper, sale, item, seen, lost, behind }
}

async function costOfTenRounds(count: number) {
  const { keeper, seen } = await openMany(count)
  Object.assign(seen, { planned: 0, asked: 0 })
  for (let i = 0; i < 10; i++) await keeper.round()
  return { ...seen }
}

test('ten rounds plan none of 1,000 items, and ask the gate for as many statuses as with 100', async () => {
  const few = await costOfTenRounds(100)
  const many = await costOfTenRounds(1_000)
  expect([few.planned, many.planned]).toEqual([0, 0])
  expect(Math.max(few.asked, many.asked)).toBeLessThanOrEqual(640)
}, 120_000)

test('a gate that lost everything is built anew from the next round on', async () => {
  const { keeper, behind } = await openMany(300)
  stage.restartEmpty()
  await keeper.round()
  await until('the doors of all', async () => (await behind('draining')) === 300)
  await keeper.idle()
  expect(await behind('gate')).toBe(300)
}, 120_000)

test('the gate of one item among many that is lost is built anew within one turn over all of them', async () => {
  const { keeper, lost } = await openMany(300)
  const one = String(first + 150)
  const epoch = async () =>
    Number((await ledger.sql('SELECT gate_epoch FROM items WHERE id = $1', [one]))[0]?.gate_epoch)
  const before = await epoch()
  lost.add(one)
  for (let i = 0; i < 6; i++) await keeper.round()
  lost.clear()
  await keeper.idle()
  expect(await epoch()).toBeGreaterThan(before)
}, 120_000)

test('a gate that is away, and one that takes nothing, is noticed in the next round', async () => {
  const { keeper, item, behind } = await openMany(100)
  stage.server.away = true
  try {
    await until('the ledger sells', async () => {
      await keeper.round()
      return (await behind('gate')) < 100
    })
  } finally {
    stage.server.away = false
  }
  await keeper.idle()
  expect(await ledger.rights.read(item)).toMatchObject({ door: expect.stringMatching(/draining|ledger|gate/) })
}, 120_000)

test('an operator’s move reaches the gate in the next round, and so does one item’s raised epoch', async () => {
  const { keeper, sale, item, behind } = await openMany(100)
  await ledger.sql("UPDATE sales SET state = 'paused', word_no = word_no + 1 WHERE id = $1", [sale])
  await keeper.round()
  expect((await stage.gate.status([item])).items[0]?.state).toBe('paused')
  await ledger.sql("UPDATE sales SET state = 'ready', word_no = word_no + 1 WHERE id = $1", [sale])
  await keeper.round()
  const epoch = await ledger.rights.raiseEpoch(item)
  await keeper.round()
  await keeper.idle()
  await until('it is sold under a new epoch', async () => {
    await keeper.round()
    await keeper.idle()
    return (await behind('gate')) === 100
  })
  expect((await ledger.rights.read(item))?.epoch).toBeGreaterThan(epoch)
}, 120_000)

test('it ends with a sale, with another list of sales, and after half a minute: what is to be done changes with the clock', async () => {
  const { sale } = await openMany(1)
  const [followed, other] = [(await ledger.sales.followed()).sales, []]
  const own = followed.find(one => one.id === sale)!
  const atGate = own.items.map(item => ({ sale: own, item }))
  const clock = { ...systemClock, elapsed: () => elapsedMs }
  let elapsedMs = 0
  const quiet = new QuietGates(stage.gate, clock)
  const nowMs = own.closesAtMs - 1
  expect(await quiet.lasts(followed, nowMs)).toBe(false)
  quiet.begin(followed, atGate, nowMs)
  expect(await quiet.lasts(followed, nowMs)).toBe(true)
  expect(await quiet.lasts(followed, own.closesAtMs)).toBe(false)
  expect(await quiet.lasts(other, nowMs)).toBe(false)
  elapsedMs = 29_000
  expect(await quiet.lasts(followed, nowMs)).toBe(true)
  elapsedMs = 30_000
  expect(await quiet.lasts(followed, nowMs)).toBe(false)
})
