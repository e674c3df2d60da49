import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../base/clock.ts'
import type { Sale } from '../../domain/sale.ts'
import { createSale } from '../../flows/operate/create-sale.ts'
import { runSale } from '../../flows/operate/run-sale.ts'
import { Scratch } from '../../ledger/embedded/scratch.fixture.ts'
import type { LogLine } from '../../ledger/journal.ts'
import { createDatabase, type Database } from '../../ledger/postgres/connection/database.ts'
import { ALONE_LANES } from '../../ledger/postgres/connection/lanes.ts'
import { migrate } from '../../ledger/postgres/connection/migrate.ts'
import { createJournal } from '../../ledger/postgres/journal.ts'
import { saleInput } from '../../wire/inputs.ts'
import { createEditRig, type EditRig } from './edit-rig.fixture.ts'
import { toNewSale } from './sale-input.ts'

setDefaultTimeout(300_000)

const MINUTE_MS = 60_000
const clock = systemClock
const scratch = new Scratch()
let database: Database
let rig: EditRig

beforeAll(async () => {
  const server = await scratch.start(await scratch.madeDataDir())
  database = createDatabase({
    connection: server.connection,
    lanes: ALONE_LANES,
    onError: () => {},
  })
  await migrate(database)
  rig = createEditRig(database)
})
afterAll(async () => {
  await database?.close()
  await scratch.undo()
})

const patch = (sale: Sale, body: unknown) => rig.call('PATCH', sale.id, body)
const inFuture = (ms: number) => toRfc3339(clock.now() + ms)
const PRICE = { amount: 1000, currency: 'CNY' }

async function draft(more: Record<string, unknown> = {}): Promise<Sale> {
  const wish = saleInput.parse({
    name: 'before',
    opensAt: inFuture(10 * MINUTE_MS),
    closesAt: inFuture(20 * MINUTE_MS),
    warmBeforeSeconds: 60,
    items: [
      { name: 'one', price: PRICE, units: 10, sku: 'S1' },
      { name: 'two', price: PRICE, units: 20 },
    ],
    ...more,
  })
  return createSale(rig, toNewSale(wish), rig.ids.next(), 'olga')
}

async function published(more: Record<string, unknown> = {}): Promise<Sale> {
  const sale = await draft(more)
  const outcome = await runSale(rig.run, sale.id, 'publish', 'olga')
  if (outcome.kind !== 'done') throw new Error(`not published: ${outcome.kind}`)
  return outcome.sale
}

/** Warm before it opens. */
const warm = () => published({ warmBeforeSeconds: 3600 })
const open = () => published({ opensAt: inFuture(-MINUTE_MS) })

async function stored(sale: Sale): Promise<Sale> {
  return (await rig.sales.find(sale.id))!
}

async function logOf(sale: Sale): Promise<readonly LogLine[]> {
  const lines = await createJournal(database).read({ after: '0', sale: sale.id, limit: 100 })
  return lines.filter(line => line.action === 'sale.edit' || line.action === 'sale.delete')
}

/** Refused with this code and field, and nothing is changed: not the sale, not the log. */
async function expectRefused(sale: Sale, body: unknown, status: number, code: string, field: string): Promise<void> {
  const before = await stored(sale)
  const answer = await patch(sale, body)
  expect([answer.status, answer.body.code, answer.body.field]).toEqual([status, code, field])
  expect(await stored(sale)).toEqual(before)
  expect(await logOf(sale)).toEqual([])
}

test('a draft takes every field, a new list of items, and says so in the log', async () => {
  const sale = await draft()
  const opensAt = inFuture(30 * MINUTE_MS)
  const closesAt = inFuture(40 * MINUTE_MS)
  const answer = await patch(sale, {
    name: 'after',
    opensAt,
    closesAt,
    warmBeforeSeconds: 5,
    items: [
      { name: 'three', price: { amount: 5, currency: 'EUR' }, units: 7, payWithinSeconds: 30, quantityMax: 2 },
      { id: sale.items[0]!.id, name: 'one again', price: PRICE, units: 11 },
    ],
  })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ name: 'after', opensAt, closesAt, warmBeforeSeconds: 5, state: 'draft' })
  const [three, one, ...rest] = (await stored(sale)).items
  expect(rest).toEqual([])
  expect(three).toMatchObject({
    name: 'three',
    units: 7,
    available: 7,
    payWithinMs: 30_000,
    quantityMax: 2,
    attemptsMax: 3,
  })
  expect(three!.price).toEqual({ amount: 5, currency: 'EUR' })
  expect(one).toMatchObject({ id: sale.items[0]!.id, name: 'one again', units: 11, available: 11, sku: 'S1' })
  const [line, ...more] = await logOf(sale)
  expect(more).toEqual([])
  expect(line).toMatchObject({ by: 'olga', action: 'sale.edit' })
  expect((line!.details as { changes: { field: string }[] }).changes.map(change => change.field)).toEqual([
    'name',
    'opensAt',
    'closesAt',
    'warmBeforeSeconds',
    'items',
    'items.1.name',
    'items.1.units',
  ])
})

test('an item of a draft that is sent back keeps what is not said, and loses only what is taken away by name', async () => {
  const kept = {
    sku: 'S1',
    image: '/one.png',
    description: 'Round.\nGreen.',
    listPrice: { amount: 2000, currency: 'CNY' },
    quantityMax: 2,
    attemptsMax: 5,
    payWithinSeconds: 60,
    whenGateDown: 'shut',
    door: 'ledger',
    shards: 8,
  }
  const sale = await draft({ items: [{ name: 'onee', price: PRICE, units: 100, ...kept }] })
  const before = sale.items[0]!
  expect(before).toMatchObject({ whenGateDown: 'shut', homeDoor: 'ledger', shards: 8 })
  const one = (more: object) => patch(sale, { items: [{ id: before.id, ...more }] })
  const now = async () => (await stored(sale)).items[0]!

  const answer = await one({ name: 'onne', price: PRICE, units: 100 })
  expect(answer.status).toBe(200)
  expect(answer.body.items).toMatchObject([{ whenGateDown: 'shut', door: 'ledger', shards: 8 }])
  expect(await now()).toEqual({ ...before, name: 'onne' })
  expect((await one({ name: 'one' })).status).toBe(200)
  expect(await now()).toEqual({ ...before, name: 'one' })
  expect((await one({ sku: null, image: null, description: null, listPrice: null, units: 7, shards: 2 })).status).toBe(
    200,
  )
  const cleared = {
    ...before,
    name: 'one',
    sku: undefined,
    image: undefined,
    description: undefined,
    listPrice: undefined,
  }
  expect(await now()).toEqual({ ...cleared, units: 7, available: 7, shards: 2 })

  // What was sent back as it was read is no change, and each change is in the log by name.
  expect((await one({ name: 'one', price: PRICE, units: 7 })).status).toBe(200)
  const fields = (await logOf(sale)).map(({ details }) =>
    (details as { changes: { field: string }[] }).changes.map(change => change.field),
  )
  expect(fields).toEqual([
    ['items.0.name'],
    ['items.0.name'],
    ['items.0.sku', 'items.0.image', 'items.0.description', 'items.0.listPrice', 'items.0.units', 'items.0.shards'],
  ])
})

test('an item of a draft is judged as it would be, not by what was sent of it', async () => {
  const listPrice = { amount: 2000, currency: 'CNY' }
  const sale = await draft({ items: [{ name: 'one', price: PRICE, units: 10_000_000, listPrice }] })
  const { id } = sale.items[0]!
  const cases = [
    [{ price: { amount: 1000, currency: 'EUR' } }, 'items.0.listPrice'],
    [{ price: { amount: 1_000_000_000_000, currency: 'CNY' } }, 'items.0.units'],
  ] as const
  for (const [more, field] of cases) await expectRefused(sale, { items: [{ id, ...more }] }, 400, 'body_invalid', field)
})

test('an edited draft is published and sold as it was edited', async () => {
  const sale = await draft()
  const items = [{ name: 'new', price: PRICE, units: 3 }]
  await patch(sale, { opensAt: inFuture(-1_000), items })
  await runSale(rig.run, sale.id, 'publish', 'olga')
  const [item] = (await stored(sale)).items
  expect(rig.view.statusNow(item!.id)).toMatchObject({ left: 3, state: 'open' })
})

test('a draft refuses what no sale may be', async () => {
  const sale = await draft()
  const item = { name: 'x', price: PRICE, units: 1 }
  const cases: readonly (readonly [unknown, string])[] = [
    [{ name: '' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ opensAt: 'tomorrow' }, 'opensAt'],
    [{ opensAt: inFuture(30 * MINUTE_MS) }, 'closesAt'],
    [{ items: [] }, 'items'],
    [{ items: [{ name: 'no price', units: 1 }] }, 'items.0.price'],
    [{ items: [item, { ...item, units: -1 }] }, 'items.1.units'],
    [{ items: [{ ...item, listPrice: { amount: 1, currency: 'EUR' } }] }, 'items.0.listPrice'],
    [{ items: [{ ...item, id: '999999' }] }, 'items.0.id'],
    [{ items: [1, 2].map(() => ({ ...item, id: sale.items[0]!.id })) }, 'items.1.id'],
    [{ state: 'over' }, 'state'],
  ]
  for (const [body, field] of cases) await expectRefused(sale, body, 400, 'body_invalid', field)
})

test('a published sale changes its words, and the terms of later orders only', async () => {
  const sale = await open()
  const [one, two] = sale.items
  const { epoch } = rig.view.statusNow(one!.id)!
  const placeOne = (id: string, buyer: string) =>
    rig.orders.place(one!.id, epoch, false, [{ order: id, buyer, attempt: 1, quantity: 1, reservedAtMs: clock.now() }])
  await placeOne('9001', 'early')
  const answer = await patch(sale, {
    name: 'renamed',
    items: [
      { id: two!.id, name: 'two!', image: '/two.png', description: 'Two\r\nlines. ', whenGateDown: 'shut' },
      { id: one!.id, sku: null, payWithinSeconds: 60, listPrice: { amount: 9, currency: 'CNY' } },
    ],
  })
  expect(answer.status).toBe(200)
  await placeOne('9002', 'late')
  const after = await stored(sale)
  expect(after.name).toBe('renamed')
  expect(after.items[0]).toMatchObject({ id: one!.id, name: 'one', sku: undefined, payWithinMs: 60_000, available: 8 })
  expect(after.items[0]!.listPrice).toEqual({ amount: 9, currency: 'CNY' })
  expect(after.items[1]).toMatchObject({
    id: two!.id,
    name: 'two!',
    image: '/two.png',
    description: 'Two\nlines.',
    whenGateDown: 'shut',
    units: 20,
  })
  const placed = await rig.orders.find(['9001', '9002'])
  const payWithin = Object.fromEntries(placed.map(order => [order.buyer, order.payByMs! - order.placedAtMs]))
  expect(payWithin).toEqual({ early: 900_000, late: 60_000 })
})

test('the gate has the new window before the operator hears "done"', async () => {
  const sale = await warm()
  const opensAt = clock.now() + 2 * MINUTE_MS
  const closesAt = clock.now() + 3 * MINUTE_MS
  expect((await patch(sale, { opensAt: toRfc3339(opensAt), closesAt: toRfc3339(closesAt) })).status).toBe(200)
  for (const item of sale.items)
    expect(rig.view.statusNow(item.id)).toMatchObject({ opensAtMs: opensAt, closesAtMs: closesAt })
})

test('an opening moved far away keeps a warm sale warm, and ending it still reaches the gate', async () => {
  const sale = await published({ warmBeforeSeconds: 1200 })
  const later = { opensAt: inFuture(600 * MINUTE_MS), closesAt: inFuture(700 * MINUTE_MS) }
  expect((await patch(sale, later)).status).toBe(200)
  expect((await rig.sales.followed()).sales.map(one => one.id)).toContain(sale.id)
  await runSale(rig.run, sale.id, 'end', 'olga')
  expect(rig.view.statusNow(sale.items[0]!.id)).toMatchObject({ state: 'over' })
})

test('a sale whose window has passed is not warmed any more, and the operator is told so at once', async () => {
  const sale = await published({ opensAt: inFuture(-2 * MINUTE_MS), closesAt: inFuture(-MINUTE_MS) })
  expect(await runSale(rig.run, sale.id, 'warm', 'olga')).toEqual({ kind: 'not_possible', state: 'over' })
})

test('what is not safe once published is refused by name, and nothing at all is changed', async () => {
  const scheduled = await published()
  const itemOf = (sale: Sale, more: object) => ({ items: [{ id: sale.items[0]!.id, ...more }] })
  const fixed: readonly (readonly [object, string])[] = [
    [{ price: { amount: 1, currency: 'CNY' } }, 'items.0.price'],
    [{ price: { amount: 1000, currency: 'EUR' } }, 'items.0.price'],
    [{ units: 11 }, 'items.0.units'],
    [{ quantityMax: 2 }, 'items.0.quantityMax'],
    [{ attemptsMax: 1 }, 'items.0.attemptsMax'],
  ]
  for (const [more, field] of fixed) {
    const body = { name: 'changed too', ...itemOf(scheduled, { name: 'changed too', ...more }) }
    await expectRefused(scheduled, body, 409, 'not_changeable', field)
  }
  const fresh = { items: [{ name: 'x', price: PRICE, units: 1 }] }
  await expectRefused(scheduled, fresh, 409, 'not_changeable', 'items')
  await expectRefused(scheduled, { items: [{ id: '999999', name: 'x' }] }, 400, 'body_invalid', 'items.0.id')
  await expectRefused(scheduled, { opensAt: inFuture(-1_000) }, 409, 'not_changeable', 'opensAt')
  await expectRefused(scheduled, { opensAt: inFuture(21 * MINUTE_MS) }, 409, 'not_changeable', 'opensAt')
  await expectRefused(scheduled, { closesAt: inFuture(5 * MINUTE_MS) }, 409, 'not_changeable', 'closesAt')
  await expectRefused(await warm(), { warmBeforeSeconds: 1 }, 409, 'not_changeable', 'warmBeforeSeconds')

  const opened = await open()
  await expectRefused(opened, { opensAt: inFuture(5 * MINUTE_MS) }, 409, 'not_changeable', 'opensAt')
  await expectRefused(opened, { closesAt: inFuture(-10_000) }, 409, 'not_changeable', 'closesAt')
  const foreign = itemOf(opened, { listPrice: { amount: 1, currency: 'EUR' } })
  await expectRefused(opened, foreign, 400, 'body_invalid', 'items.0.listPrice')

  const ended = await open()
  await runSale(rig.run, ended.id, 'end', 'olga')
  await expectRefused(ended, { closesAt: inFuture(60 * MINUTE_MS) }, 409, 'not_changeable', 'closesAt')
  const past = await published({ opensAt: inFuture(-2 * MINUTE_MS), closesAt: inFuture(-MINUTE_MS) })
  await expectRefused(past, { closesAt: inFuture(60 * MINUTE_MS) }, 409, 'not_changeable', 'closesAt')
})

test('what is sent back as it was read changes nothing and is no mistake', async () => {
  const sale = await open()
  const body = {
    name: sale.name,
    opensAt: toRfc3339(sale.opensAtMs),
    closesAt: toRfc3339(sale.closesAtMs),
    warmBeforeSeconds: 60,
    rule: 'first_come',
    items: sale.items.map(({ id, name, price, units, quantityMax }) => ({ id, name, price, units, quantityMax })),
  }
  expect((await patch(sale, body)).status).toBe(200)
  expect(await logOf(sale)).toEqual([])
})

test('an edit that meets a publishing is decided on the sale as it then is', async () => {
  let edits = 0
  for (let i = 0; i < 40; i++) {
    const sale = await draft()
    const [answer] = await Promise.all([
      patch(sale, { items: [{ name: 'new', price: { amount: 1, currency: 'CNY' }, units: 1 }] }),
      rig.sales.move(sale.id, ['draft'], 'ready', 'olga', 'sale.publish'),
    ])
    const names = (await stored(sale)).items.map(item => item.name)
    if (answer.status === 200) expect(names).toEqual(['new'])
    else expect([answer.body.code, ...names]).toEqual(['not_changeable', 'one', 'two'])
    if (answer.status === 200) edits += 1
  }
  console.log(`  ${edits} edits came first, ${40 - edits} publishings did`)
})

test('a draft is deleted, once; a published sale never', async () => {
  const sale = await draft()
  expect((await rig.call('DELETE', sale.id)).status).toBe(204)
  expect(await rig.sales.find(sale.id)).toBeUndefined()
  expect((await logOf(sale)).map(line => [line.by, line.action])).toEqual([['olga', 'sale.delete']])
  expect((await rig.call('DELETE', sale.id)).body.code).toBe('not_found')
  expect((await patch(sale, { name: 'x' })).body.code).toBe('not_found')
  const kept = await published()
  expect((await rig.call('DELETE', kept.id)).body).toMatchObject({
    status: 409,
    code: 'not_changeable',
    field: 'state',
  })
  expect(await stored(kept)).toEqual(kept)
})
