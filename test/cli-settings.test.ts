/** Settings that can't work, as whoever starts a process sees them: one clear line that names the setting, and no word of a bug. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import pg from 'pg'
import { CuttingProxy } from './harness/cutting-proxy.ts'
import { type HeardOut, listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { PROGRAM } from './harness/program.ts'

/** Processes are started one after the other, by the dozen: on a busy machine that takes its time, and is no fault. */
setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '..')
const PASSWORD = 'hunter2-hunter2'
const KEYS = { BUYER_JWT_SECRET: 'x'.repeat(32), ADMIN_TOKEN: 'y'.repeat(32), TICKET_KEYS: `k:${'z'.repeat(32)}` }
const playground = new Playground()
let dataDir: string
/** A PostgreSQL that is not the server's own. */
let ledgerPort: number
let owner: string
let sql: pg.Client

beforeAll(async () => {
  const postgres = await startPostgres(playground)
  owner = postgres.connection.user
  const proxy = await CuttingProxy.start(postgres.socket)
  playground.onUndo(() => proxy.stop())
  ledgerPort = proxy.port()
  sql = new pg.Client(postgres.connection)
  await sql.connect()
  playground.onUndo(() => sql.end())
  dataDir = playground.dataDir()
})
afterAll(() => playground.undo())

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<HeardOut> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, LOG_LEVEL: 'error', PORT: '0', ...env },
  })
  return listenTo(child).ran
}

async function expectLine(args: readonly string[], env: Record<string, string>, code: 1 | 2, words: string) {
  const ran = await run(args, env)
  const lines = ran.err.trim().split('\n').length
  expect({ env, lines, ...ran }).toEqual({ env, lines: 1, code, out: '', err: expect.stringContaining(words) })
  expect(ran.err).not.toContain(PASSWORD)
}

const ledgerUrl = (user: string, database: string, port = ledgerPort) =>
  `postgres://${user}:${PASSWORD}@127.0.0.1:${port}/${database}`

/** Says to everybody what PostgreSQL says to whoever has the wrong password. */
async function startRefusing(sqlState: string, message: string): Promise<number> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(fields.length + 4, 1)
  const server = createServer(socket => {
    // Who is refused may hang up before everything was read.
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([head, fields])))
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  playground.onUndo(() => server.close())
  return (server.address() as { port: number }).port
}

test('a port that is taken and a host that is not here stop the start', async () => {
  const other = createServer()
  await new Promise<void>(listening => other.listen(0, '127.0.0.1', listening))
  playground.onUndo(() => other.close())
  const { port } = other.address() as { port: number }
  const env = { ...KEYS, DEMO: 'off', DATABASE_URL: ledgerUrl(owner, 'postgres') }
  await expectLine(['serve'], { ...env, PORT: String(port) }, 1, `PORT: ${port} is in use`)
  await expectLine(['serve'], { ...env, METRICS_PORT: String(port) }, 1, `METRICS_PORT: ${port} is in use`)
  await expectLine(['serve'], { ...env, HOST: '203.0.113.7' }, 1, 'HOST: 203.0.113.7 is not')
  await expectLine(['config'], { ...env, PORT: '9100', METRICS_PORT: '9100' }, 2, 'METRICS_PORT: ')
})

test('a PostgreSQL that does not let us in stops whoever needs it', async () => {
  await sql.query('CREATE ROLE poor LOGIN')
  await sql.query('CREATE DATABASE other')
  const wrong = await startRefusing('28P01', 'password authentication failed for user "shop"')
  const barred = await startRefusing('28000', 'no pg_hba.conf entry for host "127.0.0.1"')
  for (const [url, words] of [
    [ledgerUrl('shop', 'shop', wrong), 'password authentication failed'],
    [ledgerUrl('shop', 'shop', barred), 'no pg_hba.conf entry'],
    [ledgerUrl(owner, 'nowhere'), 'database "nowhere" does not exist'],
    [ledgerUrl('poor', 'other'), 'permission denied'],
  ] as const) {
    await expectLine(
      ['serve'],
      { ...KEYS, DATABASE_URL: url },
      1,
      `DATABASE_URL: PostgreSQL refuses the connection: ${words}`,
    )
    await expectLine(['migrate'], { DATABASE_URL: url }, 1, 'DATABASE_URL: ')
    // Who may come in and only look is let in to look.
    if (url.includes('poor')) continue
    const { code, out, err } = await run(['doctor'], { ...KEYS, DATABASE_URL: url })
    expect([code, err]).toEqual([1, expect.stringMatching(/^stampede: \d of \d+ checks failed\n$/)])
    expect(out).not.toContain(PASSWORD)
  }
  await expectLine(['migrate'], { DATABASE_URL: `postgres://shop:${PASSWORD}@h:abc/db` }, 2, 'DATABASE_URL: ')
})

test('a data folder that can not be written stops the start', async () => {
  const file = join(dirname(dataDir), 'file')
  writeFileSync(file, '')
  const { TICKET_KEYS, ...env } = { ...KEYS, DEMO: 'off', DATABASE_URL: ledgerUrl(owner, 'postgres') }
  await expectLine(['serve'], { ...env, DATA_DIR: join(file, 'data') }, 1, `DATA_DIR: ${join(file, 'data')} `)
})

test('what only whoever serves needs does not keep a database from being migrated, and is told', async () => {
  await sql.query('CREATE DATABASE fresh')
  const env = { DATABASE_URL: ledgerUrl(owner, 'fresh') }
  await expectLine(['serve'], env, 2, 'no buyer could sign in')
  const cluster = { ...env, REDIS_URL: 'redis://127.0.0.1:1' }
  const first = await run(['migrate', '--json'], cluster)
  expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' })
  expect(JSON.parse(first.out)).toEqual({ applied: expect.arrayContaining(['0001_tables.sql']) })
  const again = await run(['migrate', '--json'], env)
  expect(JSON.parse(again.out)).toEqual({ applied: [] })
  expect((await run(['migrate'], env)).out).toBe('nothing to do: the database is up to date\n')

  const shown = await run(['config'], env)
  expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(/^missing +no buyer could sign in/m)])
  expect(JSON.parse((await run(['config', '--json'], cluster)).out)).toMatchObject({
    missing: expect.stringContaining('TICKET_KEYS'),
  })
  const { code, out } = await run(['doctor', '--json'], env)
  const { findings } = JSON.parse(out) as { findings: { what: string; state: string; found: string }[] }
  expect(code).toBe(1)
  expect(findings.find(({ what }) => what === 'settings')).toMatchObject({
    state: 'bad',
    found: expect.stringContaining('no buyer could sign in'),
  })
  expect(findings.find(({ what }) => what === 'migrations')).toMatchObject({ state: 'good' })
})
