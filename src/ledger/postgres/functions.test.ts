import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startTestLedger } from '../../../test/harness/money-ledger.ts'

const FOLDER = join(import.meta.dirname, '../functions')

/** Signature, language and body, without the schema's name. */
const DEFINED = `SELECT p.proname AS name, replace(pg_get_functiondef(p.oid), n.nspname || '.', '') AS text
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 ORDER BY p.proname, p.oid`

test('every SQL function of the migrated database is in functions/, exactly as it is, and nothing else is', async () => {
  const ledger = await startTestLedger()
  const client = await ledger.database.connect()
  try {
    // A second schema takes the functions of the files: the names of tables and types in them still mean those of the ledger.
    await client.query('CREATE SCHEMA files')
    await client.query('SET search_path = files, public')
    const files = readdirSync(FOLDER).sort()
    for (const file of files) await client.query(readFileSync(join(FOLDER, file), 'utf8'))
    const defined = async (schema: string) =>
      (await client.query<{ name: string; text: string }>(DEFINED, [schema])).rows
    const fromFiles = await defined('files')
    expect(fromFiles.map(({ name }) => `${name}.sql`)).toEqual(files)
    expect(fromFiles).toEqual(await defined('public'))
  } finally {
    await client.end()
    await ledger.stop()
  }
}, 300_000)
