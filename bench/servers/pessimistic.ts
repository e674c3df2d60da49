/**
 * Program: the textbook endpoint, the reference for placed orders. One transaction per request: BEGIN, lock the item's row, check,
 * UPDATE, INSERT, COMMIT, through a pool of the size given. Same tickets, same tables and indexes, same answer as the real thing.
 *
 * Arguments: pool size, item id. Environment: SOCKET_FOLDER, SCHEMA, TICKET_KEYS.
 */

import pg from 'pg'
import { createTicketOffice, parseTicketKeys } from '../../src/admission/ticket.ts'
import { connectionTo } from '../../src/ledger/embedded/postmaster.ts'

const [poolSize, itemId] = process.argv.slice(2)
const { SOCKET_FOLDER, SCHEMA, TICKET_KEYS } = process.env

const pool = new pg.Pool({
  ...connectionTo(SOCKET_FOLDER!),
  options: `-c search_path=${SCHEMA}`,
  max: Number(poolSize),
})
const tickets = createTicketOffice(parseTicketKeys(TICKET_KEYS!))

const LOCK = {
  name: 'lock',
  text: 'SELECT sale, price_minor, currency, available, pay_within_ms FROM items WHERE id = $1 FOR UPDATE',
}
const TAKE = { name: 'take', text: 'UPDATE items SET available = available - 1 WHERE id = $1' }
const INSERT = {
  name: 'insert',
  text: `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
         VALUES ($1, $2, $3, $4, 1, $5, $6, 'pending', 1, clock_timestamp(), clock_timestamp(),
                 clock_timestamp() + $7 * interval '1 millisecond')
         RETURNING placed_at, pay_by`,
}
/** Each pool size runs once per table and has ids of its own. */
let lastId = BigInt(poolSize!) * 10n ** 15n

async function order(request: Request): Promise<Response> {
  const claims = tickets.verify(request.headers.get('authorization')?.slice('Bearer '.length) ?? '')
  if (claims === undefined) return new Response('{"code":"ticket_invalid"}', { status: 401 })
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const item = (await client.query({ ...LOCK, values: [itemId] })).rows[0]
    if (item.available < 1) {
      await client.query('ROLLBACK')
      return new Response('{"code":"sold_out"}', { status: 409 })
    }
    await client.query({ ...TAKE, values: [itemId] })
    lastId += 1n
    const id = String(lastId)
    const values = [id, itemId, claims.buyer, claims.attempt, item.price_minor, item.currency, item.pay_within_ms]
    const row = (await client.query({ ...INSERT, values })).rows[0]
    await client.query('COMMIT')
    const body = {
      id,
      sale: item.sale,
      item: itemId,
      buyer: claims.buyer,
      attempt: claims.attempt,
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
