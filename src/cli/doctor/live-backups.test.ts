import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Playground } from '../../../test/harness/playground.ts'
import { startPostgres } from '../../../test/harness/postgres.ts'
import { readConfigForTools } from '../../app/config/config.ts'
import { systemClock, toRfc3339 } from '../../base/clock.ts'
import { BACKUP_NOTE } from '../backup.ts'
import { checkBackups } from './live-backups.ts'

const playground = new Playground()
afterEach(() => playground.undo())
setDefaultTimeout(120_000)

const HOUR_MS = 3_600_000

test('an embedded ledger without a backup of the last day is bad', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stampede-notes-'))
  try {
    const config = readConfigForTools({ DATA_DIR: dataDir })
    const state = async () => (await checkBackups(config, systemClock)).state
    expect(await state()).toBe('bad')
    for (const [text, expected] of [
      [toRfc3339(Date.now() - 25 * HOUR_MS), 'good'],
      [toRfc3339(Date.now() - 31 * HOUR_MS), 'bad'],
      ['half a no', 'bad'],
    ] as const) {
      writeFileSync(join(dataDir, BACKUP_NOTE), `${text}\n`)
      expect([text, await state()]).toEqual([text, expected])
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a PostgreSQL of the shop that archives nothing is odd, with what to do', async () => {
  const postgres = await startPostgres(playground)
  const config = readConfigForTools({ DATABASE_URL: postgres.url() })
  expect(await checkBackups(config, systemClock)).toMatchObject({
    state: 'odd',
    advice: expect.stringContaining('restore'),
  })
  const away = { ...config, databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }
  expect(await checkBackups(away, systemClock)).toMatchObject({ state: 'odd' })
})
