/**
 * A line in mid-upgrade: the landed version knows no lines. Beside its processes this version's line goes on: people join and keep their numbers, and are let in as soon
 * as a process of this version leads. The landed version sells without asking for a place, and no more than there is: a sale with a line is for the time after the upgrade.
 */

import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { gatherFacts } from '../harness/facts.ts'
import { listenTo } from '../harness/heard-out.ts'
import { LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'
import { Current, folderOf, ROOT, unpackLanded } from './landed.ts'

const UNITS = 4
const playground = new Playground()
afterEach(() => playground.undo())

test('a line goes on beside processes of the landed version and loses nobody when they are replaced', async () => {
  const begunMs = systemClock.elapsed()
  const landed = unpackLanded(playground)
  const current = new Current(playground, landed)
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, env: current.env })
  for (const member of cluster.members) expect(folderOf(member.server().pid)).toBe(landed)
  const migrating = spawn(process.execPath, ['src/main.ts', 'migrate'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...cluster.envOf('keeper'), BUN_OPTIONS: '', ADMIN_TOKEN, BUYER_JWT_SECRET },
  })
  playground.onUndo(() => migrating.kill('SIGKILL'))
  expect((await listenTo(migrating).ran).code).toBe(0)
  current.switchTo(ROOT)
  const replace = async (member: (typeof cluster.members)[number]) => {
    await member.server().stop()
    await member.startAgain()
    expect(folderOf(member.server().pid)).toBe(ROOT)
  }
  const [oldEdge, newEdge] = [cluster.edges()[0]!, cluster.edges()[1]!]
  await replace(newEdge)

  const lines = new LineShop(() => newEdge.server().url())
  const sale = await lines.openSale({ units: UNITS, line: { claimWithinSeconds: 600 } })
  const buyers = Array.from({ length: 6 }, (_, i) => `buyer-${i}`)
  for (const [i, buyer] of buyers.entries()) expect((await lines.join(sale, buyer)).number).toBe(i + 1)
  // The keeper that leads knows no lines: people wait, and keep their numbers.
  expect(await lines.where(sale, buyers[0]!)).toMatchObject({ number: 1, state: 'waiting' })
  expect((await lines.ticket(sale, buyers[0]!)).code).toBe('not_admitted')

  let edge = oldEdge
  const shop = new Shop(() => edge.server().url())
  const buy = async (buyer: string) => {
    const ticket = await shop.ticket(buyer, sale.id, sale.item)
    return until(`${buyer} has an answer`, async () => {
      const { answer } = await shop.order(ticket, 1)
      return answer.kind === 'busy' || answer.kind === 'unknown' || answer.kind === 'early' ? undefined : answer
    })
  }
  expect('order' in (await buy('zed'))).toBe(true)

  await replace(cluster.of('keeper')[0]!)
  edge = newEdge
  // A unit is gone: three are let in.
  for (const buyer of buyers.slice(0, UNITS - 1)) {
    await lines.isIn(sale, buyer, 'admitted')
    expect('order' in (await buy(buyer))).toBe(true)
  }
  await replace(cluster.of('worker')[0]!)
  await replace(oldEdge)
  const items = [{ id: sale.item, units: UNITS }]
  await cluster.quiet(shop, { id: sale.id, opensAtMs: 0, items })
  for (const member of [oldEdge, newEdge]) {
    const there = new LineShop(() => member.server().url())
    for (const [i, buyer] of buyers.entries())
      await until(`${buyer} is as before`, async () => {
        const { number, state } = await there.where(sale, buyer)
        return number === i + 1 && (state === 'done') === i < UNITS - 1
      })
  }
  const facts = await gatherFacts(shop, { id: sale.id, opensAtMs: 0, items }, newEdge.server())
  assertPromises(facts, begunMs)
  expect(facts.items.map(item => item.available)).toEqual([0])
}, 300_000)
