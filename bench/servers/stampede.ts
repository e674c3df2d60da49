/**
 * Stampede as an operator would run it: `stampede serve` with its embedded PostgreSQL; or a cluster of one process, with its gate in Redis
 * and its own database in the PostgreSQL of another server.
 */

import { chmod, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createTicketOffice, parseTicketKeys, type TicketOffice } from '../../src/admission/ticket.ts'
import { removeDataDir } from '../../src/app/config/data-dir.ts'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { fillFromMadeData } from '../../test/harness/made-data.ts'
import { PROGRAM } from '../../test/harness/program.ts'
import { ORDER_BODY } from '../client/request-bytes.ts'
import { endable } from '../endable.ts'
import { type ConstantAnswer, startChild } from './child.ts'

export interface ItemOnSale {
  readonly sale: string
  readonly item: string
}

interface NewItem {
  readonly units: number
  readonly attemptsMax?: number
  readonly door?: 'ledger'
}

/** The part of an item's audit that is compared with what the buyers were told. */
interface Books {
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly gate: { readonly left: number; readonly held: number } | null
  readonly consistent: boolean
}

export interface Stampede {
  readonly pid: number
  readonly target: Target
  readonly tickets: TicketOffice
  readonly ticketKeys: string
  /** Undefined: the embedded one. */
  readonly databaseUrl: string | undefined
  readonly postgres: { readonly pid: number; readonly socketFolder: string }
  /** A sale with one item, open now, or in so many ms, and for the next hour. */
  openSale(item: NewItem, opensInMs?: number): Promise<ItemOnSale>
  /** A sale with several equal items. */
  openSaleOf(count: number, item: NewItem): Promise<readonly ItemOnSale[]>
  audit(on: ItemOnSale): Promise<Books>
  /** An operator's call below `/api/admin`; throws unless it succeeds. */
  operate(method: string, path: string, body?: unknown): Promise<unknown>
  /** The answer to one order request, without the headers that differ between answers. */
  ask(on: ItemOnSale, ticket: string): Promise<ConstantAnswer>
  stop(): Promise<void>
}

export const ADMIN_TOKEN = 'only-for-the-bench-0123456789'
const TICKET_KEYS = 'bench:a-secret-only-for-the-bench'
/** Signs the tokens of signed-in buyers. */
export const BUYER_JWT_SECRET = 'a-buyer-secret-only-for-the-bench-0123456789'
const HOUR_MS = 3_600_000

interface Elsewhere {
  readonly redisUrl: string
  readonly postgres: Stampede['postgres']
  /** Another edge of this one's cluster, on its database. */
  readonly beside?: Stampede
  /** A database of this PostgreSQL; without it a new one is made. */
  readonly databaseUrl?: string
}

/** What one case starts its server with, beside what all have. */
interface Own {
  /** A data folder that is kept when the server stops. */
  readonly dataDir?: string
  readonly env?: Readonly<Record<string, string>>
}

let databases = 0

/** The address of a new, empty database in this PostgreSQL. */
async function makeDatabase(socketFolder: string): Promise<string> {
  const connection = connectionTo(socketFolder)
  const client = new pg.Client({ ...connection })
  const name = `bench_${++databases}`
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const { user, port, host } = connection
  return `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`
}

export async function startStampede(nowMs: () => number, elsewhere?: Elsewhere, own: Own = {}): Promise<Stampede> {
  const known = elsewhere?.databaseUrl ?? elsewhere?.beside?.databaseUrl
  const databaseUrl = elsewhere && (known ?? (await makeDatabase(elsewhere.postgres.socketFolder)))
  const dataDir = own.dataDir ?? (await mkdtemp(join(tmpdir(), 'stampede-bench-data-')))
  const discard = () => own.dataDir ?? removeDataDir(dataDir)
  if (elsewhere === undefined && own.dataDir === undefined) fillFromMadeData(dataDir)
  // As root, PostgreSQL runs under another account, which must be able to enter the folder.
  await chmod(dataDir, 0o711)
  const child = await startChild(PROGRAM, ['serve'], {
    PORT: '0',
    DATA_DIR: dataDir,
    ADMIN_TOKEN,
    TICKET_KEYS,
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    BUYER_JWT_SECRET,
    // On, as in a real sale, but never reached: all buyers come from one address here.
    RATE_PER_ADDRESS: '100000000/1s',
    RATE_PER_BUYER: '5/1s',
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(elsewhere !== undefined && { REDIS_URL: elsewhere.redisUrl, ROLES: elsewhere.beside ? 'edge' : 'all' }),
    ...own.env,
  }).catch(async (error: unknown) => {
    discard()
    throw error
  })

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`http://${child.target.host}:${child.target.port}/api/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${answer}`)
    return JSON.parse(answer)
  }

  async function openSaleOf(count: number, item: NewItem, opensInMs = -1_000): Promise<readonly ItemOnSale[]> {
    const price = { amount: 19_900, currency: 'CNY' }
    const sale = (await call('POST', '/sales', {
      name: 'Bench',
      opensAt: new Date(nowMs() + opensInMs).toISOString(),
      closesAt: new Date(nowMs() + HOUR_MS).toISOString(),
      items: Array.from({ length: count }, (_, i) => ({ name: `Bench item ${i + 1}`, price, ...item })),
    })) as { id: string; items: { id: string }[] }
    await call('POST', `/sales/${sale.id}/publish`)
    return sale.items.map(({ id }) => ({ sale: sale.id, item: id }))
  }

  const stop = endable(async () => {
    await child.stop()
    discard()
  })

  try {
    const postgres = elsewhere?.postgres ?? (await postgresIn(dataDir))
    return {
      pid: child.pid,
      target: child.target,
      tickets: createTicketOffice(parseTicketKeys(TICKET_KEYS)),
      ticketKeys: TICKET_KEYS,
      databaseUrl,
      postgres,
      openSale: async (item, opensInMs) => (await openSaleOf(1, item, opensInMs))[0]!,
      openSaleOf,
      operate: call,
      async audit(on) {
        const { items } = (await call('GET', `/sales/${on.sale}/audit`)) as { items: (Books & { item: string })[] }
        return items.find(audit => audit.item === on.item)!
      },
      async ask(on, ticket) {
        const { host, port } = child.target
        const response = await fetch(`http://${host}:${port}/api/sales/${on.sale}/items/${on.item}/orders`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
          body: ORDER_BODY,
        })
        const headers = Object.fromEntries(response.headers.entries())
        for (const own of ['date', 'content-length', 'connection', 'x-request-id']) delete headers[own]
        return { status: response.status, headers, body: await response.text() }
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The PostgreSQL that runs on this data folder. */
export async function postgresIn(dataDir: string): Promise<Stampede['postgres']> {
  const lines = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')
  return { pid: Number(lines[0]), socketFolder: lines[4]! }
}
