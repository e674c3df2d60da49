import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startPostgres } from '../../../test/harness/postgres.ts'
import { Relay } from '../../../test/harness/relay.ts'
import { ADMIN_TOKEN, Stampede } from '../../../test/harness/stampede.ts'
import { systemClock } from '../../base/clock.ts'

const DRAIN_SECONDS = 8
/** For the process itself to end, on a slow machine. Less than DRAIN_SECONDS: what waits twice is not allowed. */
const GRACE_MS = 6_000
const playground = new Playground()
afterEach(() => playground.undo())

test('a stop takes DRAIN_SECONDS and no more, although a request never ends and the ledger never answers', async () => {
  const postgres = await startPostgres(playground)
  const road = await Relay.start(playground, { path: postgres.socket })
  const server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: {
      DATABASE_URL: postgres.url(road.port()),
      TICKET_KEYS: `k:${'x'.repeat(32)}`,
      DRAIN_SECONDS: String(DRAIN_SECONDS),
    },
  })
  road.silence()
  const authorization = `Bearer ${ADMIN_TOKEN}`
  const hanging = fetch(`${server.url()}/api/admin/log`, { headers: { authorization } }).catch(() => {})
  // Answered after it has come in: on this machine requests are taken up in the order in which they come.
  await fetch(`${server.url()}/livez`)
  const begunMs = systemClock.elapsed()
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  const tookMs = systemClock.elapsed() - begunMs
  console.log(`  stopped after ${Math.round(tookMs)} ms`)
  // It was in the way, or this would prove nothing.
  expect(tookMs).toBeGreaterThan(DRAIN_SECONDS * 500)
  expect(tookMs).toBeLessThan(DRAIN_SECONDS * 1_000 + GRACE_MS)
  await hanging
}, 300_000)
