import { afterEach, describe, expect, test } from 'bun:test'
import { CuttingProxy } from '../harness/cutting-proxy.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { startPostgres } from '../harness/postgres.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

describe('a ledger whose disk is full', () => {
  test('costs buyers a "busy", not the process: when there is room again, the same order is placed', async () => {
    const stage = await MoneyStage.set(playground, { units: 10, payWithinSeconds: 900 })
    const ticket = await stage.shop.ticket('ann', stage.sale.id, stage.item)
    // Room is taken and given by what the function says: a trigger that is dropped takes locks that others hold in another order.
    const room = (says: string) =>
      sql(
        stage.dataDir,
        `CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${says}; END $$`,
      )
    await room('RETURN NEW')
    await sql(stage.dataDir, 'CREATE TRIGGER no_room BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION no_room()')
    await room("RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'")
    expect((await stage.shop.order(ticket, 1)).answer.kind).toBe('busy')
    await room('RETURN NEW')
    const told = await until('the order', async () => {
      const { answer } = await stage.shop.order(ticket, 1)
      return 'order' in answer ? answer : undefined
    })
    expect(told.kind).toBe('same')
  }, 60_000)
})

describe('a stock change without an Idempotency-Key', () => {
  test('happens once, also when the ledger answer to it is lost', async () => {
    const postgres = await startPostgres(playground)
    const proxy = await CuttingProxy.start(postgres.socket)
    playground.onUndo(() => proxy.stop())
    const server = await Stampede.start(playground, {
      dataDir: playground.dataDir(),
      env: {
        DATABASE_URL: postgres.url(proxy.port()),
        TICKET_KEYS: 'test:ticket-key-of-the-tests-only-0123456789',
      },
    })
    const shop = new Shop(() => server.url())
    const sale = await shop.openSale(-1_000, [{ units: 10 }])
    proxy.cut('ask_change', 0, ['reply'])
    const answer = await fetch(`${server.url()}/api/admin/sales/${sale.id}/items/${sale.items[0]?.id}/stock`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ delta: 50, reason: 'more came in' }),
    })
    expect(proxy.made).toBe(1)
    expect(answer.status).toBe(200)
    expect((await shop.audit(sale.id))[0]?.units).toBe(60)
  }, 60_000)
})
