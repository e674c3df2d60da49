import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { startNginx } from '../harness/nginx.ts'
import { Playground } from '../harness/playground.ts'
import { within } from '../harness/until.ts'
import { HANG_UP_MS, Stage } from './stage.ts'

const UNITS = 1_500
const BUYERS = 1_560
const SOON_MS = 120_000
const AT_A_TIME = 6
const PACE_MS = 25

const playground = new Playground()
afterEach(() => playground.undo())

test('every part is stopped and started again, one after the other, behind nginx in mid-sale: no error but "busy", and nothing is lost', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, fixedPorts: true })
  const ports = cluster.edges().map(edge => Number(new URL(edge.server().url()).port))
  const nginx = await startNginx(playground, ports)
  cluster.behind(nginx.url)
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, atATime: AT_A_TIME })
  // A steady stream for as long as it takes, and the rest when all of them have been restarted: it never sells out before.
  const early = stage.tickets.slice(0, BUYERS / 2)
  const buying = meanwhile(
    atMost(AT_A_TIME, early, async ticket => {
      await systemClock.sleep(PACE_MS)
      return stage.persist(ticket)
    }),
  )
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  for (const member of cluster.members) {
    const exit = await member.server().stop()
    expect(exit, `${member.role} stops in order`).toEqual({ code: 0, signal: null })
    await member.startAgain()
  }
  console.log(`  ${stage.shop.placedSoFar()} placed when the last one was back`)
  const first = await within('the stream has ended', SOON_MS, buying)
  const rest = await within('everybody has an answer', SOON_MS, stage.everybodyBuys(stage.tickets.slice(BUYERS / 2)))
  const outcomes = [...first, ...rest]
  // Shop throws at any status that API.md does not name for an order, so every 5xx heard was "busy".
  const kinds = Map.groupBy(stage.shop.told, told => told.answer.kind)
  console.log(`  ${[...kinds].map(([kind, told]) => `${told.length} ${kind}`).join(', ')}`)
  // A buyer who has waited that long hangs up: that is a slow machine, and no connection that was cut. Timers may be a little early.
  const cut = kinds.get('unknown')?.filter(told => told.answeredAtMs - told.askedAtMs < HANG_UP_MS - 50) ?? []
  expect(cut, 'connections that were cut').toEqual([])
  await stage.judge(outcomes)
}, 300_000)
