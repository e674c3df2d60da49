import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestLedger, type TestLedger } from '../../../test/harness/money-ledger.ts'
import type { Database } from './database.ts'
import { migrate } from './migrate.ts'

const MIGRATIONS = join(import.meta.dirname, '..', 'migrations')
const NAMES = readdirSync(MIGRATIONS).sort()

let ledger: TestLedger
const folders: string[] = []
const databases: Database[] = []
beforeAll(async () => {
  ledger = await startTestLedger()
}, 30_000)
afterAll(async () => {
  for (const database of databases) await database.close()
  await ledger.stop()
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** An empty database of its own. */
async function empty(name: string): Promise<Database> {
  await ledger.sql(`CREATE DATABASE ${name}`)
  const database = ledger.connect(name)
  databases.push(database)
  return database
}

/** A copy of the migrations, to be tampered with. */
function copied(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-migrations-'))
  folders.push(folder)
  cpSync(MIGRATIONS, folder, { recursive: true })
  return folder
}

test('every migration once, in order; again: none', async () => {
  const database = await empty('once')
  expect(await migrate(database)).toEqual(NAMES)
  expect(await migrate(database)).toEqual([])
})

test('two processes that start together apply each once', async () => {
  const database = await empty('together')
  const [one, other, third] = await Promise.all([migrate(database), migrate(database), migrate(database)])
  expect([...one, ...other, ...third].sort()).toEqual(NAMES)
})

test('a migration that was changed after it was applied stops the start, and names itself', async () => {
  const database = await empty('changed')
  const folder = copied()
  await migrate(database, folder)
  const [first = ''] = NAMES
  writeFileSync(join(folder, first), `${readFileSync(join(folder, first), 'utf8')}\n-- changed`)
  const refused = migrate(database, folder)
  await expect(refused).rejects.toMatchObject({ code: 'migration_changed', message: expect.stringContaining(first) })
})

test('a database newer than the code is left alone', async () => {
  const database = await empty('newer')
  const folder = copied()
  writeFileSync(join(folder, '9999_later.sql'), 'CREATE TABLE later (id int)')
  expect(await migrate(database, folder)).toContain('9999_later.sql')
  await expect(migrate(database)).rejects.toMatchObject({
    code: 'ledger_newer',
    message: expect.stringContaining('9999_later'),
  })
})

test('a migration that fails leaves no trace, and the next start goes on from there', async () => {
  const database = await empty('failing')
  const folder = copied()
  writeFileSync(join(folder, '9999_broken.sql'), 'CREATE TABLE half (id int); SELECT nonsense')
  await expect(migrate(database, folder)).rejects.toThrow('nonsense')
  writeFileSync(join(folder, '9999_broken.sql'), 'CREATE TABLE half (id int)')
  expect(await migrate(database, folder)).toEqual(['9999_broken.sql'])
})
