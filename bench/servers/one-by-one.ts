/**
 * Program: the textbook endpoints, references for placed orders. One transaction per request, through a pool of the given size.
 * Same tickets, tables, indexes and answer as Stampede. Three ways to take a unit:
 *
 *     pessimistic  SELECT … FOR UPDATE, then UPDATE
 *     optimistic   SELECT, then UPDATE … WHERE version is still the one read; three tries, then "busy"
 *     guarded      one UPDATE … WHERE available >= what is wanted
 *
 * Arguments: strategy, pool size. Environment: SOCKET_FOLDER, SCHEMA, TICKET_KEYS. The item comes with the ticket.
 */

import pg from 'pg'
import { createTicketOffice, parseTicketKeys } from '../../src/admission/ticket.ts'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'

const [strategy, poolSize] = process.argv.slice(2)
const { SOCKET_FOLDER, SCHEMA, TICKET_KEYS } = process.env

interface Item {
  readonly sale: string
  readonly price_minor: string
  readonly currency: string
  readonly available: number
  readonly pay_within_ms: string
  readonly version: string
}

type Taken = Item | 'sold_out' | 'busy'

const pool = new pg.Pool({
  ...connectionTo(SOCKET_FOLDER!),
  options: `-c search_path=${SCHEMA}`,
  max: Number(poolSize),
})
const tickets = createTicketOffice(parseTicketKeys(TICKET_KEYS!))

const COLUMNS = 'sale, price_minor, currency, available, pay_within_ms, version'
const LOCK = { name: 'lock', text: `SELECT ${COLUMNS} FROM items WHERE id = $1 FOR UPDATE` }
const TAKE = { name: 'take', text: 'UPDATE items SET available = available - 1 WHERE id = $1' }
const READ = { name: 'read', text: `SELECT ${COLUMNS} FROM items WHERE id = $1` }
const TAKE_VERSION = {
  name: 'take_version',
  text: 'UPDATE items SET available = available - 1, version = version + 1 WHERE id = $1 AND version = $2',
}
const TAKE_GUARDED = {
  name: 'take_guarded',
  text: `UPDATE items SET available = available - 1 WHERE id = $1 AND available >= 1 RETURNING ${COLUMNS}`,
}
const INSERT = {
  name: 'insert',
  text: `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
         VALUES ($1, $2, $3, $4, 1, $5, $6, 'pending', 1, clock_timestamp(), clock_timestamp(),
                 clock_timestamp() + $7 * interval '1 millisecond')
         RETURNING placed_at, pay_by`,
}
const TRIES = 3
/** Runs with different pool sizes write into the same tables, each with its own ids. */
let lastId = BigInt(poolSize!) * 10n ** 15n

async function pessimistic(client: pg.PoolClient, itemId: string): Promise<Taken> {
  const item: Item = (await client.query({ ...LOCK, values: [itemId] })).rows[0]
  if (item.available < 1) return 'sold_out'
  await client.query({ ...TAKE, values: [itemId] })
  return item
}

async function optimistic(client: pg.PoolClient, itemId: string): Promise<Taken> {
  for (let tries = 0; tries < TRIES; tries++) {
    const item: Item = (await client.query({ ...READ, values: [itemId] })).rows[0]
    if (item.available < 1) return 'sold_out'
    const taken = await client.query({ ...TAKE_VERSION, values: [itemId, item.version] })
    if (taken.rowCount === 1) return item
  }
  return 'busy'
}

async function guarded(client: pg.PoolClient, itemId: string): Promise<Taken> {
  const item: Item | undefined = (await client.query({ ...TAKE_GUARDED, values: [itemId] })).rows[0]
  return item ?? 'sold_out'
}

const take = { pessimistic, optimistic, guarded }[strategy!]
if (take === undefined) throw new Error(`there is no strategy "${strategy}"`)

async function order(request: Request): Promise<Response> {
  const claims = tickets.verify(request.headers.get('authorization')?.slice('Bearer '.length) ?? '')
  if (claims === undefined) return new Response('{"code":"ticket_invalid"}', { status: 401 })
  const { item: itemId, buyer, attempt } = claims
  // The same bodies as Stampede gets, read by the quickest way and checked no further.
  const length = request.headers.get('content-length')
  const { quantity } =
    length === null || length === '0' ? { quantity: 1 } : ((await request.json()) as { quantity: number })
  if (quantity !== 1) return new Response('{"code":"quantity_invalid"}', { status: 422 })
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const item = await take!(client, itemId)
    if (typeof item === 'string') {
      await client.query('ROLLBACK')
      return new Response(`{"code":"${item}"}`, { status: item === 'busy' ? 503 : 409 })
    }
    lastId += 1n
    const id = String(lastId)
    const values = [id, itemId, buyer, attempt, item.price_minor, item.currency, item.pay_within_ms]
    const row = (await client.query({ ...INSERT, values })).rows[0]
    await client.query('COMMIT')
    const body = {
      id,
      sale: item.sale,
      item: itemId,
      buyer,
      attempt,
      quantity: 1,
      amount: { amount: Number(item.price_minor), currency: item.currency },
      state: 'pending',
      reservedAt: row.placed_at,
      placedAt: row.placed_at,
      payBy: row.pay_by,
    }
    return Response.json(body, { status: 201, headers: { location: `/api/orders/${id}` } })
  } catch {
    await client.query('ROLLBACK')
    return new Response('{"code":"internal"}', { status: 500 })
  } finally {
    client.release()
  }
}

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: order })
process.on('SIGTERM', () => process.exit(0))
console.log(`ready on http://127.0.0.1:${server.port}`)
