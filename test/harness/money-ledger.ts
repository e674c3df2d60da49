/**
 * For tests of the ledger's SQL: a real PostgreSQL with the migrations applied, started once for a test file, and items on sale in it.
 * Every item is its own world, so tests of one file do not see each other.
 */

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { startEmbeddedServer } from '../../src/ledger/embedded/server.ts'
import type { PlaceAsk } from '../../src/ledger/orders.ts'
import { createDatabase, type Database, type Row } from '../../src/ledger/postgres/connection/database.ts'
import { ALONE_LANES } from '../../src/ledger/postgres/connection/lanes.ts'
import { migrate } from '../../src/ledger/postgres/connection/migrate.ts'
import { createEventLog } from '../../src/ledger/postgres/events/events.ts'
import { createPayments } from '../../src/ledger/postgres/money/payments.ts'
import { createProviderCounts } from '../../src/ledger/postgres/money/provider-counts.ts'
import { createRefunds } from '../../src/ledger/postgres/money/refunds.ts'
import { createReportedPayments } from '../../src/ledger/postgres/money/reported-payments.ts'
import { createClosings, createOrders } from '../../src/ledger/postgres/orders.ts'
import { createReconciliation } from '../../src/ledger/postgres/reconciliation.ts'
import { createRights } from '../../src/ledger/postgres/rights.ts'
import { createSales } from '../../src/ledger/postgres/sales.ts'
import { createStock } from '../../src/ledger/postgres/stock.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { copyMadeData } from './made-data.ts'

export const PRICE = { amount: 1_000, currency: 'CNY' }

export interface ItemWish {
  readonly units?: number
  readonly quantityMax?: number
  readonly attemptsMax?: number
  readonly payWithinMs?: number
  readonly shards?: number
}

interface OnSaleItem {
  readonly sale: string
  readonly item: string
  readonly epoch: number
}

export type TestLedger = Awaited<ReturnType<typeof startTestLedger>>

export async function startTestLedger() {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-ledger-'))
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  await copyMadeData(dataDir)
  const server = await startEmbeddedServer({ dataDir, log: () => {} })
  const connect = (database?: string, lanes = ALONE_LANES, events = true, alwaysYields = false): Database =>
    createDatabase({
      connection: { ...server.connection, ...(database !== undefined && { database }) },
      lanes,
      events,
      alwaysYields,
      onError: () => {},
    })
  const database = connect()
  await migrate(database)
  const admin = await database.connect()
  const sql = async (text: string, values: unknown[] = []): Promise<Row[]> => (await admin.query(text, values)).rows
  const orders = createOrders(database)
  const rights = createRights(database)
  const sales = createSales(database)
  const reconciliation = createReconciliation(database)
  let lastId = 1_000_000

  const id = () => {
    lastId += 1
    return String(lastId)
  }

  /** Takes the item for a new epoch and opens its door, as a rebuild does. */
  async function rebuild(item: string): Promise<number> {
    const epoch = await rights.raiseEpoch(item)
    await rights.snapshot(item, epoch, async () => {})
    await rights.setDoor(item, epoch, 'gate')
    return epoch
  }

  return {
    database,
    connect,
    /** Of another database in the same PostgreSQL, for a program. */
    urlOf: (name: string) =>
      `postgres://${server.connection.user}@localhost:${server.connection.port}/${name}?host=${encodeURIComponent(server.connection.host)}`,
    sql,
    orders,
    sales,
    rights,
    reconciliation,
    closings: createClosings(database),
    payments: createPayments(database),
    refunds: createRefunds(database),
    reports: createReportedPayments(database),
    providerCounts: createProviderCounts(database),
    stock: createStock(database),
    events: createEventLog(database),
    id,
    rebuild,

    /** Newest first, as an operator reads them. */
    async deadLetters(max: number) {
      const rows = await sql('SELECT * FROM dead_letters ORDER BY id DESC LIMIT $1', [max])
      return rows.map(({ id: _, epoch, order_id: order, at, ...letter }) => ({
        ...(letter as { item: string; entry: string; raw: string; why: string }),
        epoch: Number(epoch),
        order: order === '' ? undefined : order,
        atMs: at as number,
      }))
    },

    async openItem(wish: ItemWish = {}): Promise<OnSaleItem> {
      const sale = id()
      const item = id()
      const nowMs = systemClock.now()
      const made = {
        id: item,
        sale,
        sku: undefined,
        name: 'item',
        image: undefined,
        price: PRICE,
        listPrice: undefined,
        units: 10,
        available: 10,
        quantityMax: 5,
        attemptsMax: 3,
        payWithinMs: 900_000,
        whenGateDown: 'ledger' as const,
        homeDoor: 'gate' as const,
        shards: 1,
        door: 'shut' as const,
        epoch: 0,
        gateEpoch: 0,
        gateShards: 1,
        changeNo: 0,
        ...wish,
      }
      const window = { opensAtMs: nowMs - 1_000, closesAtMs: nowMs + 3_600_000, warmBeforeMs: 0 }
      const terms = { ticketsBeforeMs: undefined, challenge: undefined }
      await sales.create(
        { id: sale, name: 'sale', ...window, ...terms, state: 'draft', stateNo: 0, rule: 'first_come', items: [made] },
        'test',
      )
      await sales.move(sale, ['draft'], 'ready', 'test', 'sale.publish')
      return { sale, item, epoch: await rebuild(item) }
    },

    ask(buyer: string, quantity = 1, attempt = 1): PlaceAsk {
      return { order: id(), buyer, attempt, quantity, reservedAtMs: systemClock.now() }
    },

    /** The same ledger over a road that can be cut. */
    async overProxy(placing: number) {
      const { host, port, user, database: name } = server.connection
      const proxy = await CuttingProxy.start(join(host, `.s.PGSQL.${port}`))
      const road = createDatabase({
        connection: { host: '127.0.0.1', port: proxy.port(), user, database: name },
        lanes: { ...ALONE_LANES, placing },
        onError: () => {},
      })
      const close = async () => {
        await road.close()
        await proxy.stop()
      }
      return { proxy, database: road, close }
    },

    /** Units by state, as the audit adds them up; `units` is what they must come to. */
    async units(sale: string) {
      const [line] = await reconciliation.audit(sale)
      if (line === undefined) throw new Error(`there is no sale ${sale}`)
      const { units, available, pending, paid, releases } = line
      if (available + pending + paid !== units) throw new Error(`the ledger does not add up: ${JSON.stringify(line)}`)
      return { units, available, pending, paid, releases }
    },

    /** How often PostgreSQL had to break a deadlock: it says so in its log at once, however well the retry hides it. */
    deadlocks(): number {
      return readFileSync(join(folder, 'data', 'postgres.log'), 'utf8').split('deadlock detected').length - 1
    },

    async stop() {
      await admin.end()
      await database.close()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
