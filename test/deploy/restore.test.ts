import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Stage } from '../cluster/stage.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { within } from '../harness/until.ts'
import { ensureServers } from '../servers.ts'
import { installedTools, OwnPostgres } from './own-postgres.ts'
import { ROOT } from './shipped.ts'

setDefaultTimeout(300_000)

const SOON_MS = 120_000
const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')

const playground = new Playground()
beforeAll(() => ensureServers(['redis-server', 'postgresql'], line => console.log(line)))
afterEach(() => playground.undo())

/** The lines between two marks of the page, with what is different here put in its place. */
function lines(mark: string, instead: Readonly<Record<string, string>>): string {
  const found = new RegExp(`^( *)<!-- ${mark}:[^>]*-->\n *\`\`\`sh\n([^\`]*)\`\`\``, 'm').exec(page)
  const [, indent = '', block = ''] = found ?? []
  expect(block, mark).not.toBe('')
  const whole = block.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
  return Object.entries(instead).reduce((text, [shipped, here]) => text.replaceAll(shipped, here), whole)
}

interface Way {
  /** Made while buyers buy; answers what the restore has to know. */
  readonly backUp: (postgres: OwnPostgres) => Promise<string>
  /** All of Stampede is stopped. */
  readonly restore: (postgres: OwnPostgres, known: string) => Promise<void>
}

const archiveCommand = (backup: string) =>
  lines('archive', { '/backup': backup }).match(/archive_command = '(.*)'/)?.[1] ?? ''

const WAYS: Readonly<Record<string, Way>> = {
  'a dump': {
    async backUp(postgres) {
      await postgres.shell(lines('dump', { '/backup': postgres.backup }))
      return ''
    },
    restore: async postgres => {
      await postgres.shell(lines('restore-dump', { '/backup': postgres.backup }))
    },
  },
  'a base backup and the log, to a moment': {
    async backUp(postgres) {
      await postgres.shell(lines('base', { '/backup': postgres.backup }))
      return postgres.shell(`psql -Atc 'SELECT clock_timestamp()' stampede`)
    },
    async restore(postgres, moment) {
      await postgres.shell(lines('last-of-the-log', {}))
      await postgres.stop()
      postgres.elsewhere()
      await postgres.shell(lines('restore-base', { '/backup': postgres.backup, '2026-11-15 10:04:00+00': moment }))
      await postgres.run()
    },
  },
}

describe('restored as the page says, from what was taken in mid-sale, the cluster sells on and keeps every word given before:', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    test(name, async () => {
      const postgres = await OwnPostgres.start(playground, installedTools(), archiveCommand)
      const cluster = await Cluster.start(playground, {
        edges: 2,
        workers: 1,
        keepers: 1,
        env: { DATABASE_URL: postgres.url },
      })
      const stage = await Stage.set(cluster, { units: 250, buyers: 280 })
      const [first, during, after] = [
        stage.tickets.slice(0, 60),
        stage.tickets.slice(60, 180),
        stage.tickets.slice(180, 200),
      ]
      const outcomes = await stage.everybodyBuys(first)
      await cluster.quiet(stage.shop, stage.sale)
      const before = stage.shop.told.length

      const buying = meanwhile(stage.everybodyBuys(during))
      await within('some of them have bought', SOON_MS, stage.shop.placed(first.length + 10))
      const known = await way.backUp(postgres)
      await within('everybody has an answer', SOON_MS, buying)
      // Epochs move on after that moment, and the restored ledger will give them out again.
      await cluster.redis.kill()
      await cluster.redis.start()
      await stage.everybodyBuys(after)
      // Who was told "reserved" has no row yet.
      await cluster.quiet(stage.shop, stage.sale)
      const sold = await countOrders(postgres)
      expect(sold).toBe(first.length + during.length + after.length)

      for (const role of ['edge', 'worker', 'keeper'] as const)
        for (const member of cluster.of(role)) await member.server().stop()
      await way.restore(postgres, known)
      emptyRedis(cluster.redis.url)
      const restored = await countOrders(postgres)
      expect(restored).toBeGreaterThanOrEqual(first.length)
      // Or it was no way back.
      expect(restored).toBeLessThanOrEqual(sold - after.length)
      for (const role of ['keeper', 'worker', 'edge'] as const)
        for (const member of cluster.of(role)) await member.startAgain()

      // What was told after that moment is gone, as the page says; nobody may be judged by it.
      stage.shop.told.splice(before)
      await stage.judge(outcomes)
    })
  }
})

const countOrders = async (postgres: OwnPostgres) =>
  Number(await postgres.shell(`psql -Atc 'SELECT count(*) FROM orders' stampede`))

function emptyRedis(url: string): void {
  const env = { PATH: '/usr/bin:/bin', REDIS_URL: url }
  const { status, stdout } = spawnSync('/bin/sh', ['-euc', lines('empty', {})], { env, encoding: 'utf8' })
  expect({ status, said: stdout.trim() }).toEqual({ status: 0, said: 'OK' })
}
