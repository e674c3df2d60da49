/** `stampede doctor --json` as a process, on a PostgreSQL that the tests of one file share. */

import { afterAll, beforeAll } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { Playground } from './playground.ts'
import { startPostgres } from './postgres.ts'
import { PROGRAM } from './program.ts'

interface Finding {
  readonly what: string
  readonly state: string
  readonly found: string
  readonly advice?: string
}

export function startDoctor() {
  const playground = new Playground()
  let databaseUrl = ''
  beforeAll(async () => {
    databaseUrl = (await startPostgres(playground)).url()
  }, 300_000)
  afterAll(() => playground.undo())

  return {
    databaseUrl: () => databaseUrl,

    examine(redisUrl: string, env: Readonly<Record<string, string>> = {}) {
      const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'doctor', '--json'], {
        encoding: 'utf8',
        timeout: 240_000,
        env: {
          PATH: process.env.PATH,
          DATA_DIR: playground.dataDir(),
          DATABASE_URL: databaseUrl,
          REDIS_URL: redisUrl,
          ADMIN_TOKEN: 'admin-token-of-the-doctor-tests',
          TICKET_KEYS: 'a:ticket-key-of-the-doctor-tests-0123',
          BUYER_JWT_SECRET: 'buyer-secret-of-the-doctor-tests-0123',
          ...env,
        },
      })
      if (stdout === '') throw new Error(stderr)
      const report = JSON.parse(stdout) as { readonly healthy: boolean; readonly findings: readonly Finding[] }
      return { ...report, of: (what: string) => report.findings.find(finding => finding.what === what) }
    },
  }
}
