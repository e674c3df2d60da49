import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { runsAsRoot } from './account.ts'
import { isGone, NOBODY, query, Scratch } from './scratch.fixture.ts'

setDefaultTimeout(300_000)

let scratch: Scratch
beforeEach(() => {
  scratch = new Scratch()
})
afterEach(() => scratch.undo())

async function refusalOf(act: Promise<unknown>): Promise<Fault> {
  const error = await act.then(
    () => new Error('was not refused'),
    error => error,
  )
  if (!(error instanceof Fault)) throw error
  expect(error.message).not.toContain('\n')
  return error
}

test('makes the database on first start, finds it again later, and leaves nothing running', async () => {
  const dataDir = scratch.dataDirIn(scratch.folder())
  const begun = systemClock.elapsed()
  const first = await scratch.start(dataDir)
  const firstMs = systemClock.elapsed() - begun
  await query(first.connection, `CREATE TABLE kept AS SELECT 'é€' AS word`)
  const pid = first.pid()!
  await Promise.all([first.stop(), first.stop()])
  expect(isGone(pid)).toBe(true)
  expect(first.pid()).toBeUndefined()
  expect(existsSync(first.connection.host)).toBe(false)

  const again = systemClock.elapsed()
  const second = await scratch.start(dataDir)
  const secondMs = systemClock.elapsed() - again
  console.log(`embedded server: first start ${Math.round(firstMs)} ms, later start ${Math.round(secondMs)} ms`)
  expect(await query(second.connection, 'SELECT word FROM kept')).toEqual(['é€'])
  expect(second.connection).toEqual(first.connection)
})

test('listens on no network port and keeps what it confirms on disk', async () => {
  const server = await scratch.start(await scratch.madeDataDir())
  const wanted = {
    listen_addresses: '',
    unix_socket_permissions: '0700',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    server_encoding: 'UTF8',
    lc_collate: 'C',
    TimeZone: 'UTC',
    jit: 'off',
    max_connections: '60',
  }
  const { lc_collate, ...settings } = wanted
  for (const [name, value] of Object.entries(settings))
    expect([name, ...(await query(server.connection, `SHOW ${name}`))]).toEqual([name, value])
  expect(
    await query(server.connection, 'SELECT datcollate FROM pg_database WHERE datname = current_database()'),
  ).toEqual([lc_collate])
  expect(statSync(server.connection.host).mode & 0o777).toBe(0o700)
})

test('works in a path with spaces, quotes and commas', async () => {
  const dataDir = scratch.dataDirIn(scratch.folder(), `my "own" data, it's here`)
  const server = await scratch.start(dataDir)
  expect(server.connection.host).toBe(join(dataDir, 'socket'))
  expect(await query(server.connection, 'SELECT 1')).toEqual([1])
})

test('works in a path too long for a socket, with the socket in a closed folder elsewhere', async () => {
  const dataDir = scratch.dataDirIn(scratch.folder(), join('a'.repeat(60), 'b'.repeat(60), 'data'))
  const server = await scratch.start(dataDir)
  expect(server.connection.host).not.toStartWith(dataDir)
  expect(statSync(server.connection.host).mode & 0o777).toBe(0o700)
  expect(await query(server.connection, 'SELECT 1')).toEqual([1])
  await server.stop()
  expect(existsSync(server.connection.host)).toBe(false)
})

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())(
  'as root: runs PostgreSQL under another account, and opens the data folder no more than needed',
  async () => {
    const dataDir = scratch.dataDirIn(scratch.folder())
    const server = await scratch.start(dataDir)
    const { uid } = statSync(join(dataDir, 'postgres'))
    expect(uid).not.toBe(0)
    expect(statSync(`/proc/${server.pid()}`).uid).toBe(uid)
    expect(lstatSync(join(dataDir, 'postgres')).isDirectory()).toBe(true)
    expect(statSync(dataDir).mode & 0o777).toBe(0o711)
  },
)

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())(
  'as root: in a folder closed to others, keeps the data in a folder PostgreSQL can reach, and logs it',
  async () => {
    const dataDir = scratch.dataDirIn(scratch.folder(0o700))
    const server = await scratch.start(dataDir)
    const link = join(dataDir, 'postgres')
    expect(readlinkSync(link)).toMatch(/^\/var\/lib\/stampede\/data-/)
    expect(scratch.logged.filter(line => line.includes(readlinkSync(link)) && line.startsWith('warn'))).toHaveLength(1)
    await query(server.connection, 'CREATE TABLE kept AS SELECT 42 AS n')
    await server.stop()
    const again = await scratch.start(dataDir)
    expect(await query(again.connection, 'SELECT n FROM kept')).toEqual([42])
  },
)

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())(
  'as an ordinary user: runs as that user, and root can take over without locking them out',
  async () => {
    const folder = scratch.folder(0o777)
    const dataDir = scratch.dataDirIn(folder)
    const one = await scratch.startProcess(dataDir, NOBODY)
    expect(one.fault).toBeUndefined()
    expect(statSync(`/proc/${one.postmaster}`).uid).toBe(NOBODY.uid)
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
    await query(one.connection, 'CREATE TABLE kept AS SELECT 7 AS n')
    one.child.stdin!.end()
    await one.ended
    expect(isGone(one.postmaster)).toBe(true)

    const byRoot = await scratch.start(dataDir)
    expect(await query(byRoot.connection, 'SELECT n FROM kept')).toEqual([7])
    await byRoot.stop()
    const two = await scratch.startProcess(dataDir, NOBODY)
    expect(await query(two.connection, 'SELECT n FROM kept')).toEqual([7])
    two.child.stdin!.end()
    await two.ended
  },
)

// Only root runs PostgreSQL under another account; an ordinary user has nothing to show here.
test.if(runsAsRoot())('as an ordinary user: a fault names whose data it is, in one line', async () => {
  const dataDir = scratch.folder(0o777)
  mkdirSync(join(dataDir, 'postgres'), { mode: 0o700 })
  const refused = await scratch.startProcess(dataDir, NOBODY)
  expect(refused.message).toBe(`${join(dataDir, 'postgres')} belongs to another user; start as that user, or as root`)
})

test('refuses a second process on the same folder, and names the first', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const second = await scratch.startProcess(dataDir)
  expect(second.fault).toBe('embedded_folder_in_use')
  expect(second.message).toContain(`pid ${process.pid}`)
  expect(await query(server.connection, 'SELECT 1')).toEqual([1])
  await server.stop()
  const third = await scratch.startProcess(dataDir)
  expect(third.fault).toBeUndefined()
  third.child.stdin!.end()
  await third.ended
})

test('refuses data of another PostgreSQL version, a lost link and a stranger folder, and lets the folder go again', async () => {
  const dataDir = join(scratch.folder(), 'data')
  const data = join(dataDir, 'postgres')
  mkdirSync(data, { recursive: true })
  expect((await refusalOf(scratch.start(dataDir))).message).toContain('is not PostgreSQL data')
  writeFileSync(join(data, 'PG_VERSION'), '12\n')
  const refusal = await refusalOf(scratch.start(dataDir))
  expect(refusal.code).toBe('embedded_data_version')
  expect(refusal.message).toContain('PostgreSQL 12')
  expect(readdirSync(data)).toEqual(['PG_VERSION'])
  rmSync(data, { recursive: true })
  symlinkSync(join(dataDir, 'gone'), data)
  expect((await refusalOf(scratch.start(dataDir))).message).toContain('where there is no data')
  expect(existsSync(join(dataDir, 'gone'))).toBe(false)
})

test('of processes that start at once on a new folder, exactly one serves it', async () => {
  const dataDir = scratch.dataDirIn(scratch.folder())
  const started = await Promise.all(Array.from({ length: 4 }, () => scratch.startProcess(dataDir)))
  expect(started.map(one => one.fault ?? 'serves').toSorted()).toEqual([
    ...Array(3).fill('embedded_folder_in_use'),
    'serves',
  ])
  const winner = started.find(one => one.fault === undefined)!
  expect(await query(winner.connection, 'SELECT 1')).toEqual([1])
  winner.child.stdin!.end()
  await winner.ended
})

test('the fault names why PostgreSQL did not start', async () => {
  const dataDir = await scratch.madeDataDir()
  await (await scratch.start(dataDir)).stop()
  truncateSync(join(dataDir, 'postgres', 'global', 'pg_control'), 0)
  const refusal = await refusalOf(scratch.start(dataDir))
  expect(refusal.code).toBe('embedded_start')
  expect(refusal.message).toContain('pg_control')
})

test('starts a new log file when the old one has grown past ten megabytes', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  await query(server.connection, `DO $$ BEGIN RAISE WARNING 'seen in the log'; END $$`)
  await server.stop()
  const log = join(dataDir, 'postgres.log')
  expect(readFileSync(log, 'utf8')).toContain('seen in the log')
  truncateSync(log, 11 << 20)
  await scratch.start(dataDir)
  expect(statSync(log).size).toBeLessThan(1 << 20)
  expect(statSync(`${log}.1`).size).toBe(11 << 20)
})

test('does not take a folder that it can not write', async () => {
  const file = join(scratch.folder(), 'file')
  writeFileSync(file, '')
  expect((await refusalOf(scratch.start(join(file, 'data')))).message).toContain(dirname(file))
})
