import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { startCluster } from './rehearsal-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('100,000 buyers against a cluster on a Redis Cluster, the item in 8 shards: green, also with a primary killed in the middle', async () => {
  const cluster = await startCluster(playground, playground.dataDir(), ['--redis', 'cluster'])
  for (const fault of [{}, { fault: 'redis' }]) {
    const { sentence } = await cluster.rehearse({ buyers: 100_000, units: 1_000, shards: 8, ...fault })
    console.log(`  ${sentence}`)
    expect(sentence).toContain('sold 1,000 of 1,000')
  }
  await cluster.stop()
}, 600_000)
