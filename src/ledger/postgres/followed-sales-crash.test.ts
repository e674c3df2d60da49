/** A server that crashes may give out the id of a transaction again. What a process saw before says nothing about it then. */

import { expect, test } from 'bun:test'
import { startTestLedger } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import type { Database } from './connection/database.ts'
import { createSales } from './sales.ts'

/** Whether an id comes again is up to what the server had written by then. */
const CRASHES = 2

async function changedIn(database: Database, item: string): Promise<string | undefined> {
  const client = await database.connect()
  const read = client.query<{ id: string }>('SELECT changed_in::text AS id FROM items WHERE id = $1', [item])
  const row = await read.then(
    ({ rows }) => rows[0],
    () => undefined,
  )
  await client.end()
  return row?.id
}

test('after a crash of the server a change is seen whose transaction has the id of one that was rolled back before', async () => {
  const ledger = await startTestLedger()
  const again: boolean[] = []
  try {
    for (let i = 0; i < CRASHES; i++) {
      const { item, epoch } = await ledger.openItem()
      const database = ledger.connect()
      try {
        const sales = createSales(database)
        const epochNow = async () =>
          (await sales.followed()).sales.flatMap(sale => sale.items).find(one => one.id === item)?.epoch
        for (let reads = 0; reads < 5; reads++) expect(await epochNow()).toBe(epoch)
        const victim = await database.connect()
        const pid = Number((await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid)
        await victim.query('BEGIN')
        const lost = await victim.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
        await victim.query('ROLLBACK')
        expect(await epochNow()).toBe(epoch)
        process.kill(pid, 'SIGKILL')
        const raised = await until('the server is back', () => ledger.rights.raiseEpoch(item).catch(() => undefined))
        expect(await until('the sales are read', () => epochNow().catch(() => undefined))).toBe(raised)
        const id = await until('the row is read', () => changedIn(database, item).catch(() => undefined))
        again.push(id === lost.rows[0]?.id)
      } finally {
        await database.close()
      }
    }
    console.log(`  ids that came again: ${again.filter(Boolean).length} of ${CRASHES}`)
  } finally {
    await ledger.stop()
  }
}, 300_000)
