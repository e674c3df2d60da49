import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { requireDurable } from '../src/ledger/postgres/connection/durable.ts'
import { startDoctor } from './harness/doctor.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres, type TestPostgres } from './harness/postgres.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'

const playground = new Playground()
const doctor = startDoctor()
let postgres: TestPostgres
beforeEach(async () => {
  postgres = await startPostgres(playground)
})
afterEach(() => playground.undo())

const start = () => Stampede.spawn(playground, { dataDir: playground.dataDir(), env: { DATABASE_URL: postgres.url() } })

describe('a 201 is a promise on a PostgreSQL of the user’s:', () => {
  for (const [level, kept] of [
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ] as const) {
    test(`synchronous_commit = ${level} for the database is ${kept} where orders are placed`, async () => {
      await postgres.sql(`ALTER DATABASE ${postgres.connection.database} SET synchronous_commit = ${level}`)
      const server = start()
      await server.ready()
      await postgres.sql(`CREATE TABLE IF NOT EXISTS seen_commit (level text);
        DELETE FROM seen_commit;
        CREATE OR REPLACE FUNCTION see_commit() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO seen_commit VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE OR REPLACE TRIGGER see_commit AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION see_commit()`)
      const shop = new Shop(() => server.url())
      const sale = await shop.openSale(-1_000, [{ units: 3 }])
      for (const buyer of ['ann', 'bob', 'cat'])
        await shop.order(await shop.ticket(buyer, sale.id, sale.items[0]?.id ?? ''), 1)
      expect(await postgres.sql('SELECT level FROM seen_commit')).toEqual(Array(3).fill({ level: kept }))
      const shown = level === 'off' ? 'synchronous_commit off (our connections: on)' : `synchronous_commit ${level}`
      const durability = doctor.examine('', { DATABASE_URL: postgres.url() }).of('durability')
      expect(durability).toMatchObject({ state: 'good', found: expect.stringContaining(shown) })
    }, 300_000)
  }

  test('fsync = off refuses the start, in one line that says what to do', async () => {
    await postgres.restart({ fsync: 'off' })
    const server = start()
    expect(await server.exited).toMatchObject({ code: 1 })
    expect(server.output()).toContain('fsync is off')
    expect(server.output()).toContain('ALTER SYSTEM SET')
  }, 300_000)

  test('full_page_writes = off starts with a warning', async () => {
    await postgres.restart({ full_page_writes: 'off' })
    const server = start()
    await server.ready()
    expect(server.output()).toContain('full_page_writes is off')
  }, 300_000)

  test('a collation of another version than the indexes were built with is named with its REINDEX, at the start and by the doctor', async () => {
    await postgres.sql(`CREATE DATABASE shop TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'`)
    const env = { DATABASE_URL: postgres.url().replace(`/${postgres.connection.database}?`, '/shop?') }
    expect(doctor.examine('', env).of('collation')?.state).toBe('good')
    await postgres.sql(`UPDATE pg_database SET datcollversion = '1.2.3' WHERE datname = 'shop'`)
    expect(doctor.examine('', env).of('collation')).toMatchObject({
      state: 'bad',
      advice: expect.stringContaining('REINDEX DATABASE "shop"'),
    })
    const server = Stampede.spawn(playground, { dataDir: playground.dataDir(), env })
    await server.ready()
    expect(server.output()).toContain('REINDEX DATABASE')
  }, 300_000)

  test('a connection that stays at off refuses the start', async () => {
    const client = { query: async () => ({ rows: [{ commit: 'off', fsync: 'on', pages: 'on' }] }) }
    await expect(requireDurable(client as never, { warn: () => {} })).rejects.toThrow('synchronous_commit is off')
  })
})
