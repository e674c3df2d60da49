import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const SOON_MS = 120_000
const playground = new Playground()
afterEach(() => playground.undo())

test('PostgreSQL does not answer any more: SIGTERM still ends every process, in about the time it is given', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 1,
    workers: 1,
    keepers: 1,
    roads: true,
    env: { DRAIN_SECONDS: '2' },
  })
  const stage = await Stage.set(cluster, { units: 200, buyers: 220 })
  const buying = meanwhile(stage.everybodyBuys())
  buying.catch(() => {})
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(50))
  for (const member of cluster.members) member.postgresRoad?.silence()
  const startedMs = systemClock.elapsed()
  const ends = await Promise.all(
    cluster.members.map(async member => {
      process.kill(member.server().pid, 'SIGTERM')
      const exit = await Promise.race([member.server().exited, systemClock.sleep(100_000).then(() => undefined)])
      return { role: member.role, exit, ms: Math.round(systemClock.elapsed() - startedMs) }
    }),
  )
  console.log(`  ${ends.map(({ role, ms }) => `${role} ${ms} ms`).join(', ')}`)
  for (const { exit } of ends) expect(exit).toEqual({ code: 0, signal: null })
  for (const { role, ms } of ends) expect(ms, role).toBeLessThan(25_000)
}, 300_000)
