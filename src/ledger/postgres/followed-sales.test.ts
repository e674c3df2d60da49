/** E2: after a read the list is what the ledger had when the read was sent or later, whatever commits when; and a read where nothing happens is small. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Database, Row } from './connection/database.ts'
import { FollowedSales } from './followed-sales.ts'

const ledger = ledgerForFile()

type Answer = (rows: Row[]) => Row[]

/** A reader of its own, with the names of its statements, how many rows they answered, and a way to change the answers. */
function reader(database: Pick<Database, 'run'> = ledger.database) {
  const asked: string[] = []
  const read = { rows: 0 }
  const hook: { answer: Answer } = { answer: rows => rows }
  const followed = new FollowedSales(async (name, values) => {
    asked.push(name)
    const rows = hook.answer(await database.run(name, values))
    read.rows += rows.length
    return rows
  })
  return {
    hook,
    read: () => followed.read(),
    sales: async () => (await followed.read()).sales,
    /** Since the last call. */
    statements: () => asked.splice(0),
    rows: () => read.rows,
  }
}

const withoutAvailable = (sales: readonly Sale[]) =>
  sales.map(sale => ({ ...sale, items: sale.items.map(({ available: _, ...item }) => item) }))
const now = async () => withoutAvailable(await reader().sales())

/** Reads until every connection of the pool that may answer has answered once. */
async function settled(process: ReturnType<typeof reader>): Promise<void> {
  for (let quiet = 0; quiet < 5; ) {
    process.statements()
    await process.read()
    quiet = process.statements().includes('followed_sales') ? 0 : quiet + 1
  }
}

describe('transactions that end in any order', () => {
  const clients: pg.Client[] = []
  beforeAll(async () => {
    for (let i = 0; i < 4; i++) clients.push(await ledger.database.connect())
  })
  afterAll(async () => {
    for (const client of clients) await client.end()
  })

  const CHANGES = [
    "UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1",
    "UPDATE items SET door = CASE door WHEN 'gate' THEN 'ledger' ELSE 'gate' END WHERE id = $1",
    'UPDATE items SET gate_epoch = epoch WHERE id = $1',
    'UPDATE items SET available = available - 1 WHERE id = $1',
    "UPDATE sales SET state = CASE state WHEN 'ready' THEN 'paused' ELSE 'ready' END, word_no = word_no + 1 WHERE id = (SELECT sale FROM items WHERE id = $1)",
    "UPDATE sales SET closes_at = closes_at + interval '1 second' WHERE id = (SELECT sale FROM items WHERE id = $1)",
    "UPDATE sales SET state = CASE state WHEN 'draft' THEN 'ready' ELSE 'draft' END WHERE id = (SELECT sale FROM items WHERE id = $1)",
    "UPDATE sales SET warm_before_ms = 0, opens_at = CASE WHEN opens_at < now() THEN now() + interval '10 minutes' ELSE now() - interval '1 minute' END WHERE id = (SELECT sale FROM items WHERE id = $1)",
  ]

  test('no committed change is missed, none that was rolled back is shown', async () => {
    const seed = Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 32))
    console.log(`  SEED=${seed}`)
    const random = seededRandom(seed)
    const one = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!
    const items: string[] = []
    for (let i = 0; i < 6; i++) items.push((await ledger.openItem({ units: 10_000_000 })).item)
    const edge = reader()
    await settled(edge)
    const open = new Set<pg.Client>()
    let compared = 0
    for (let step = 0; step < 1_200; step++) {
      const client = one(clients)
      const roll = random.next()
      if (roll < 0.25) {
        // The expected list is read first: nothing commits between the two.
        const expected = await now()
        expect(withoutAvailable(await edge.sales()), `step ${step}`).toEqual(expected)
        compared += 1
      } else if (!open.has(client)) {
        await client.query('BEGIN')
        // Its id is older than those of transactions that end before it.
        if (roll < 0.5) await client.query('SELECT pg_current_xact_id()')
        open.add(client)
      } else if (roll < 0.7) {
        await client.query('SAVEPOINT one')
        const change = { text: one(CHANGES), values: [one(items)] }
        await client.query("SET LOCAL lock_timeout = '1ms'")
        const failed = await client.query(change).then(
          () => roll < 0.45,
          () => true,
        )
        await client.query(failed ? 'ROLLBACK TO one' : 'RELEASE one')
      } else {
        await client.query(roll < 0.95 ? 'COMMIT' : 'ROLLBACK')
        open.delete(client)
      }
    }
    for (const client of open) await client.query('COMMIT')
    expect(withoutAvailable(await edge.sales())).toEqual(await now())
    expect(compared).toBeGreaterThan(200)
    expect(edge.statements().filter(name => name === 'followed_sales').length).toBeLessThan(25)
  }, 300_000)

  test('a change that commits after later ones is shown, though its transaction began before them', async () => {
    const { item, epoch } = await ledger.openItem()
    const other = await ledger.openItem()
    const edge = reader()
    await settled(edge)
    const [slow] = clients
    await slow!.query('BEGIN')
    await slow!.query("UPDATE items SET epoch = epoch + 1, door = 'draining' WHERE id = $1", [item])
    await ledger.rights.raiseEpoch(other.item)
    const epochOf = async (id: string) =>
      (await edge.sales()).flatMap(sale => sale.items).find(one => one.id === id)?.epoch
    expect(await epochOf(other.item)).toBe(other.epoch + 1)
    expect(await epochOf(item)).toBe(epoch)
    await slow!.query('COMMIT')
    expect(await epochOf(item)).toBe(epoch + 1)
    expect(edge.statements()).not.toContain('followed_sales')
  })
})

describe('what can’t be gone on from is read anew', () => {
  const epochs = async (edge: ReturnType<typeof reader>) =>
    (await edge.sales()).flatMap(sale => sale.items.map(({ epoch }) => epoch))

  test.each<[string, (row: Row) => Row]>([
    ['another server answers', row => ({ ...row, ledger: 'another' })],
    ['a connection answers that has not answered before', row => ({ ...row, session: 'another' })],
    ['the snapshot is older than the last', row => ({ ...row, seen: '3:3:' })],
  ])('%s', async (_, change) => {
    const { item, epoch } = await ledger.openItem()
    const edge = reader()
    await settled(edge)
    edge.hook.answer = rows => (rows[0]?.whole === undefined ? rows : rows.map(change))
    await ledger.rights.raiseEpoch(item)
    expect(await epochs(edge)).toContain(epoch + 1)
    expect(edge.statements().slice(0, 2)).toEqual(['changed_sales', 'followed_sales'])
  })

  test('an answer that was sent before all were read anew does not go back behind it', async () => {
    const { item, epoch } = await ledger.openItem()
    const edge = reader()
    await settled(edge)
    const held = Promise.withResolvers<void>()
    const database: Pick<Database, 'run'> = {
      async run(name, values) {
        const rows = await ledger.database.run(name, values)
        if (name === 'changed_sales' && slow.on) await held.promise
        return rows
      },
    }
    const slow = { on: false }
    const both = reader(database)
    await settled(both)
    slow.on = true
    const old = both.read()
    await ledger.rights.raiseEpoch(item)
    slow.on = false
    both.hook.answer = rows => rows.map(row => ({ ...row, ...(row.whole !== undefined && { session: 'new' }) }))
    expect(await epochs(both)).toContain(epoch + 1)
    both.hook.answer = rows => rows
    held.resolve()
    const { sales } = await old
    expect(sales.flatMap(sale => sale.items.map(one => one.epoch))).toContain(epoch + 1)
    expect(await epochs(both)).toContain(epoch + 1)
  })

  test('an answer whose rows are mended while all are read anew is not gone on from', async () => {
    const { item } = await ledger.openItem()
    const database: Pick<Database, 'run'> = {
      async run(name, values) {
        const rows = await ledger.database.run(name, values)
        if (name === 'mend_changed') {
          // Another server answers meanwhile.
          edge.hook.answer = found => found.map(row => ({ ...row, ledger: 'another', ahead: false }))
          await edge.read()
        }
        return rows
      },
    }
    const edge = reader(database)
    await settled(edge)
    await ledger.rights.raiseEpoch(item)
    edge.hook.answer = rows => rows.map(row => ({ ...row, ahead: true }))
    await edge.read()
    const statements = ['changed_sales', 'mend_changed', 'changed_sales', 'followed_sales', 'followed_sales']
    expect(edge.statements()).toEqual(statements)
  })

  test('rows that were copied from another server are mended once, and not read again and again', async () => {
    const { item } = await ledger.openItem()
    await ledger.sql('ALTER TABLE items DISABLE TRIGGER item_changed')
    await ledger.sql("UPDATE items SET changed_in = '18000000000000000000' WHERE id = $1", [item])
    await ledger.sql('ALTER TABLE items ENABLE ALWAYS TRIGGER item_changed')
    const edge = reader()
    await edge.read()
    await edge.read()
    expect(edge.statements()).toContain('mend_changed')
    await settled(edge)
    const before = edge.rows()
    await edge.read()
    expect(edge.rows() - before).toBe(1)
  })
})

describe('which sales are followed', () => {
  const set = (sale: string, change: string) => ledger.sql(`UPDATE sales SET ${change} WHERE id = $1`, [sale])
  const ids = async (edge: ReturnType<typeof reader>) => (await edge.sales()).map(({ id }) => id)

  test('a sale is listed from the moment its warm-up begins, though no row changes then', async () => {
    const { sale } = await ledger.openItem()
    const edge = reader()
    await set(sale, "opens_at = clock_timestamp() + interval '200 milliseconds', warm_before_ms = 0")
    await edge.read()
    await settled(edge)
    const deadline = Date.now() + 10_000
    let listed = await ids(edge)
    while (!listed.includes(sale) && Date.now() < deadline) listed = await ids(edge)
    expect(listed).toContain(sale)
  })

  test('a sale that was over by a wrong clock of the ledger is listed again when the clock is set right', async () => {
    const { sale } = await ledger.openItem()
    const edge = reader()
    await settled(edge)
    const aYearOn = Date.now() + 366 * 24 * 3_600_000
    edge.hook.answer = rows => rows.map(row => ({ ...row, now: aYearOn, now_us: String(aYearOn * 1_000) }))
    await edge.read()
    expect(await ids(edge)).not.toContain(sale)
    edge.hook.answer = rows => rows
    expect(await ids(edge)).toContain(sale)
  })

  test('what ended long ago is listed while a release is open', async () => {
    const { sale, item } = await ledger.openItem()
    const edge = reader()
    await settled(edge)
    await set(
      sale,
      "opens_at = clock_timestamp() - interval '3 hours', closes_at = clock_timestamp() - interval '2 hours'",
    )
    expect(await ids(edge)).not.toContain(sale)
    await ledger.sql(
      "INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome) VALUES ($1, $2, 'ann', 1, 1, 'closed')",
      [ledger.id(), item],
    )
    // The ledger's clock goes on: by then it is looked for.
    const deadline = Date.now() + 20_000
    let listed = await ids(edge)
    while (!listed.includes(sale) && Date.now() < deadline) listed = await ids(edge)
    expect(listed).toContain(sale)
    expect(await ids(reader())).toContain(sale)
    await ledger.sql('DELETE FROM releases WHERE item = $1', [item])
    while (listed.includes(sale) && Date.now() < deadline) listed = await ids(edge)
    expect(listed).not.toContain(sale)
  }, 300_000)
})

describe('2,000 items where nothing happens', () => {
  beforeAll(async () => {
    const { sale } = await ledger.openItem()
    await ledger.sql(
      `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door, epoch)
       SELECT 5000000000 + n, $1, n, 'idle', 1000, 'CNY', 10, 10, 1, 1, 60000, 'gate', 1 FROM generate_series(1, 2000) n`,
      [sale],
    )
    await ledger.sql('VACUUM ANALYZE items, sales')
  })

  test('a read is one statement and one row, and lists the same sales', async () => {
    const edge = reader()
    await settled(edge)
    const { sales } = await edge.read()
    expect(sales.flatMap(sale => sale.items).length).toBeGreaterThan(2_000)
    edge.statements()
    const before = edge.rows()
    for (let i = 0; i < 20; i++) expect((await edge.read()).sales).toBe(sales)
    expect(edge.statements()).toEqual(Array.from({ length: 20 }, () => 'changed_sales'))
    expect(edge.rows() - before).toBe(20)
  })

  test('a change of one item is one row more; what has not changed stays the same object', async () => {
    const edge = reader()
    await settled(edge)
    const { sales } = await edge.read()
    const before = edge.rows()
    await ledger.sql("UPDATE items SET door = 'ledger' WHERE id = 5000000007")
    const next = (await edge.read()).sales
    expect(edge.rows() - before).toBe(1)
    const items = new Set(sales.flatMap(sale => sale.items))
    expect(next.flatMap(sale => sale.items).filter(item => !items.has(item))).toMatchObject([
      { id: '5000000007', door: 'ledger' },
    ])
    await ledger.sql('UPDATE items SET available = available - 1 WHERE id = 5000000007')
    expect((await edge.read()).sales).toBe(next)
  })

  test('the statement reads a few blocks by a plan that does not know how much has changed', async () => {
    const text = readFileSync(new URL('../sql/changed_sales.sql', import.meta.url), 'utf8')
    const [at] = await ledger.sql(
      'SELECT pg_current_snapshot()::text AS seen, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us',
    )
    await ledger.sql('BEGIN')
    await ledger.sql('SET LOCAL plan_cache_mode = force_generic_plan')
    await ledger.sql(`PREPARE steady AS ${text}`)
    const [row] = await ledger.sql(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE steady ('${String(at!.seen)}', ${String(at!.now_us)}, true)`,
    )
    await ledger.sql('ROLLBACK')
    await ledger.sql('DEALLOCATE steady')
    const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
    const blocks = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    console.log(`  changed_sales: ${blocks} blocks`)
    expect(blocks).toBeLessThanOrEqual(20)
  })
})
