import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, endOf, isGone, procField, query, Scratch, type ServerProcess, until } from './scratch.fixture.ts'

setDefaultTimeout(300_000)

/**
 * Keeps a server process computing without ever waiting for anything, so that it does not notice the death of others. Row by row: as a
 * table of the FROM itself the rows would first be gathered, in a file that grows until the disk is full.
 */
const ENDLESS = 'SELECT count(*) FROM (SELECT generate_series(1, 1e15)) s'

let scratch: Scratch
beforeEach(() => {
  scratch = new Scratch()
})
afterEach(() => scratch.undo())

/** One table with two committed rows, one row that is never committed, and one statement that never ends. */
async function startBusyProcess(dataDir: string): Promise<ServerProcess & { backend: number }> {
  const running = await scratch.startProcess(dataDir)
  expect(running.fault).toBeUndefined()
  await query(running.connection, 'CREATE TABLE kept (n int)')
  await query(running.connection, 'INSERT INTO kept VALUES (1), (2)')
  const uncommitted = await connect(running.connection)
  await uncommitted.query('BEGIN; INSERT INTO kept VALUES (3)')
  const busy = await connect(running.connection)
  const [backend] = (await busy.query({ text: 'SELECT pg_backend_pid()', rowMode: 'array' })).rows[0] as [number]
  busy.query(ENDLESS).catch(() => {})
  await until(() =>
    query(running.connection, `SELECT 1 FROM pg_stat_activity WHERE pid = ${backend} AND state = 'active'`).then(
      rows => rows.length,
    ),
  )
  return { ...running, backend }
}

async function kill(running: ServerProcess): Promise<void> {
  running.child.kill('SIGKILL')
  await running.ended
}

async function expectOnlyCommitted(dataDir: string, old: { postmaster: number; backend: number }): Promise<void> {
  const server = await scratch.start(dataDir)
  expect(isGone(old.postmaster)).toBe(true)
  expect(isGone(old.backend)).toBe(true)
  expect(await query(server.connection, 'SELECT n FROM kept ORDER BY n')).toEqual([1, 2])
}

test('loses nothing committed when our process is killed and PostgreSQL runs on, in the middle of a statement', async () => {
  const dataDir = await scratch.madeDataDir()
  const running = await startBusyProcess(dataDir)
  await kill(running)
  expect(isGone(running.postmaster)).toBe(false)
  await expectOnlyCommitted(dataDir, running)
  expect(scratch.logged.join('\n')).toContain(`pid ${running.postmaster}`)
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).toContain('received fast shutdown request')
})

test('ends a leftover PostgreSQL that is stopped and does not listen', async () => {
  const dataDir = await scratch.madeDataDir()
  const running = await startBusyProcess(dataDir)
  await kill(running)
  process.kill(running.postmaster, 'SIGSTOP')
  await expectOnlyCommitted(dataDir, running)
})

test('ends what is left when our process and the main PostgreSQL process are both killed', async () => {
  const dataDir = await scratch.madeDataDir()
  const running = await startBusyProcess(dataDir)
  await kill(running)
  process.kill(running.postmaster, 'SIGKILL')
  await until(() => isGone(running.postmaster))
  expect(isGone(running.backend)).toBe(false)
  await expectOnlyCommitted(dataDir, running)
})

test('is not blocked by the pid files of a killed PostgreSQL, even when their pid belongs to another process now', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const content = readFileSync(pidFile, 'utf8')
  await server.stop()
  // A process of the same user, so that PostgreSQL by itself would take it for a running server.
  const { uid, gid } = statSync(join(dataDir, 'postgres'))
  const other = spawn('/bin/cat', { uid, gid })
  try {
    writeFileSync(pidFile, content.replace(/^\d+/, String(other.pid)))
    const again = await scratch.start(dataDir)
    expect(await query(again.connection, 'SELECT 1')).toEqual([1])
    expect(isGone(other.pid!)).toBe(false)
  } finally {
    other.kill('SIGKILL')
  }
})

test('leaves nothing half-made when it is killed while making the database', async () => {
  const dataDir = scratch.dataDirIn(scratch.folder())
  const child = scratch.spawnProcess(dataDir)
  const unfinished = () => {
    try {
      return readdirSync(dataDir).find(name => name.startsWith('postgres.new-'))
    } catch {
      return undefined
    }
  }
  const name = await until(unfinished)
  await until(() => readdirSync(join(dataDir, name)).length > 3)
  child.kill('SIGKILL')
  await endOf(child)
  expect(readdirSync(dataDir)).not.toContain('postgres')

  const server = await scratch.start(dataDir)
  expect(await query(server.connection, 'SELECT 1')).toEqual([1])
  expect(unfinished()).toBeUndefined()
})

test('starts PostgreSQL again when it is killed, on the same socket, with everything committed', async () => {
  const server = await scratch.start(await scratch.madeDataDir())
  await query(server.connection, 'CREATE TABLE kept AS SELECT 1 AS n')
  const busy = await connect(server.connection)
  busy.query(ENDLESS).catch(() => {})
  await until(() =>
    query(server.connection, `SELECT 1 FROM pg_stat_activity WHERE query = '${ENDLESS}' AND state = 'active'`).then(
      rows => rows.length,
    ),
  )

  for (let death = 0; death < 2; death++) {
    const pid = server.pid()!
    process.kill(pid, 'SIGKILL')
    await until(() => server.pid() !== undefined && server.pid() !== pid)
    expect(await until(() => query(server.connection, 'SELECT n FROM kept').catch(() => undefined))).toEqual([1])
  }
  expect(scratch.logged.filter(line => line.startsWith('error'))).toHaveLength(2)

  const last = server.pid()!
  await server.stop()
  expect(isGone(last)).toBe(true)
  expect(server.pid()).toBeUndefined()
})

test('a stop in the middle of a restart leaves nothing running and lets the folder go', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const first = server.pid()!
  process.kill(first, 'SIGKILL')
  const second = await until(() => (server.pid() === first ? undefined : server.pid()))
  await server.stop()
  expect(isGone(second)).toBe(true)
  expect(server.pid()).toBeUndefined()
  await (await scratch.start(dataDir)).stop()
})

test('stops a PostgreSQL that is itself stopped, and still in good order', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const pid = server.pid()!
  process.kill(pid, 'SIGSTOP')
  await until(() => procField(pid, 3) === 'T')
  await server.stop()
  expect(isGone(pid)).toBe(true)
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).toContain('received fast shutdown request')
})

test('a Ctrl-C in the terminal reaches our process alone', async () => {
  const running = await scratch.startProcess(await scratch.madeDataDir())
  expect(procField(running.child.pid!, 5)).toBe(String(running.child.pid))
  process.kill(-running.child.pid!, 'SIGINT')
  for (let i = 0; i < 5; i++) expect(await query(running.connection, 'SELECT 1')).toEqual([1])
  expect(procField(running.postmaster, 5)).toBe(String(running.postmaster))
  running.child.stdin!.end()
  await running.ended
  expect(isGone(running.postmaster)).toBe(true)
})
