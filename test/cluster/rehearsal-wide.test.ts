/** `npm run cluster -- --redis cluster`, rehearsed against: an item in one place, and one in eight. */

import { afterEach, expect, test } from 'bun:test'
import { SLOTS, slotOf } from '../../src/base/redis/slots.ts'
import type { Cluster } from '../../src/rehearsal/fault/cluster.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { startCluster } from './rehearsal-cases.ts'

/** One of each beside two edges: what is new here is the Redis Cluster. */
const WIDE = ['--redis', 'cluster', '--workers', '1', '--keepers', '1']
const BACK_MS_MAX = 120_000
const SHARDS = 8

const playground = new Playground()
afterEach(() => playground.undo())

test('an item in one place: its very primary is killed in the middle, and the rehearsal is green', async () => {
  const cluster = await startCluster(playground, playground.dataDir(), WIDE)
  const before = cluster.described()
  const { sale, fault, books, settings } = await cluster.rehearse({ buyers: 2_000, units: 200, fault: 'redis' })
  expect(fault).toMatchObject({ role: 'redis', part: ownerOf(before, slotOf(sale!.item)), missed: null })
  expect([books?.sold, settings.shards]).toEqual([200, 1])
  await wholeAfter(fault?.part ?? '', before, cluster.described)
  await cluster.stop()
}, 480_000)

test('an item in 8 shards: green; and green with a primary killed, on nodes that were stopped and started again', async () => {
  const data = playground.dataDir()
  const first = await startCluster(playground, data, WIDE)
  const calm = await first.rehearse({ buyers: 2_000, units: 400, shards: SHARDS })
  expect([calm.fault, calm.books?.sold, calm.settings.shards]).toEqual([null, 400, SHARDS])
  expect(await shardsOf(first.described(), calm.sale!.id)).toEqual([SHARDS])
  await first.stop()

  // Other ports, the same files: the nodes know each other, and have to find each other.
  const second = await startCluster(playground, data, WIDE)
  const before = second.described()
  const hurt = await second.rehearse({ buyers: 2_000, units: 400, shards: SHARDS, fault: 'redis' })
  expect([hurt.fault?.missed, hurt.books?.sold, hurt.settings.shards]).toEqual([null, 400, SHARDS])
  await wholeAfter(hurt.fault?.part ?? '', before, second.described)
  await second.stop()
}, 480_000)

function ownerOf({ parts }: Cluster, slot: number): string | undefined {
  return parts.find(({ slots = [] }) => slots.some(([from, to]) => slot >= from && slot <= to))?.name
}

/** Six nodes run, the dead one under another pid, and each slot is somebody's. */
async function wholeAfter(victim: string, before: Cluster, described: () => Cluster): Promise<void> {
  const pidOf = ({ parts }: Cluster) => parts.find(({ name }) => name === victim)?.pid
  expect(ownsSlots(before, victim), 'a primary was killed').toBe(true)
  await until(
    'six nodes, and every slot in good hands',
    () => {
      const now = described()
      const nodes = now.parts.filter(({ role }) => role === 'redis')
      const served = nodes.flatMap(({ slots = [] }) => slots).reduce((sum, [from, to]) => sum + to - from + 1, 0)
      const pid = pidOf(now)
      return nodes.length === 6 && served === SLOTS && pid !== undefined && pid !== pidOf(before)
    },
    BACK_MS_MAX,
  )
}

function ownsSlots({ parts }: Cluster, name: string): boolean {
  return parts.some(part => part.name === name && (part.slots ?? []).length > 0)
}

async function shardsOf({ url, adminToken }: Cluster, sale: string): Promise<(number | undefined)[]> {
  const answer = await fetch(`${url}/api/admin/sales/${sale}`, { headers: { authorization: `Bearer ${adminToken}` } })
  const { items } = (await answer.json()) as { items: { shards?: number }[] }
  return items.map(({ shards }) => shards)
}
