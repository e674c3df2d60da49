/** The flight recorder of a running process: read by an operator, by the command line, and written down on a signal. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { FlightAnswer } from '../src/wire/flight/flight-calls.ts'
import { listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
const dataDir = playground.dataDir()
let server: Stampede
let shop: Shop
let order = ''
let sale = ''

beforeAll(async () => {
  server = await Stampede.start(playground, { dataDir })
  shop = new Shop(() => server.url())
  const open = await shop.openSale(-1_000, [{ units: 1 }])
  sale = open.id
  const item = open.items[0]?.id ?? ''
  const tickets = await Promise.all(
    ['winner', 'loser-1', 'loser-2', 'loser-3'].map(buyer => shop.ticket(buyer, sale, item)),
  )
  const taken = await shop.order(tickets[0]!, 1)
  order = 'order' in taken.answer ? String((taken.answer.order as { id: string }).id) : ''
  for (const ticket of tickets.slice(1)) expect((await shop.order(ticket, 1)).answer.kind).toBe('sold_out')
})
afterAll(() => playground.undo())

async function flight(query = '', token = ADMIN_TOKEN) {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${server.url()}/api/admin/flight${query}`, { headers })
  return { status: response.status, body: (await response.json()) as FlightAnswer }
}

test('an operator reads what was decided: the order by its id, the refusals as a count, no buyer', async () => {
  const { status, body } = await flight()
  expect(status).toBe(200)
  expect(body.decisions).toContainEqual(expect.objectContaining({ what: 'placed', about: sale, order }))
  expect(body.decisions).toContainEqual(expect.objectContaining({ what: 'sold_out', about: sale, count: 3 }))
  expect(JSON.stringify(body)).not.toMatch(/winner|loser/)
  expect((await flight('?limit=1')).body.decisions).toHaveLength(1)
  expect((await flight('', 'wrong-token-of-nobody')).status).toBe(401)
})

test('"stampede flight" shows the same', async () => {
  const child = spawn(process.execPath, [PROGRAM, 'flight'], {
    cwd: resolve(import.meta.dirname, '..'),
    env: { PATH: process.env.PATH, STAMPEDE_SERVER: server.url(), STAMPEDE_TOKEN: ADMIN_TOKEN },
  })
  const { code, out, err } = await listenTo(child).ran
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(new RegExp(`placed .*${order}`))
  expect(out).toMatch(/sold_out +3 /)
})

test('SIGUSR2 writes it down and the process goes on', async () => {
  const folder = join(dataDir, 'flight')
  process.kill(server.pid, 'SIGUSR2')
  const [head = '', ...lines] = await until('a dump is written', () => {
    const [name] = existsSync(folder) ? readdirSync(folder) : []
    const text = name === undefined ? '' : readFileSync(join(folder, name), 'utf8')
    return text.endsWith('\n') ? text.trimEnd().split('\n') : undefined
  })
  expect(JSON.parse(head)).toMatchObject({ why: 'signal', pid: server.pid, decisions: lines.length })
  expect(lines.map(line => JSON.parse(line))).toContainEqual(expect.objectContaining({ what: 'placed', order }))
  expect((await flight()).status).toBe(200)
})
