import { describe, expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { noMeters } from '../../base/meters.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { manyEdges } from './many-edges.fixture.ts'

const newSeed = () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  return seed
}

describe('a limit over four edges', () => {
  test.each([1, 3, 4, 5, 8, 20, 100])(
    'of %d is exact to the request when they are asked one after the other',
    async count => {
      const world = await manyEdges(4, { perAddress: `${count}/1h` })
      for (let n = 0; n < count + 20; n++) {
        world.send(n % 4)
        await world.go(10)
      }
      expect(world.admittedMs).toHaveLength(count)
      expect(world.refusals).toHaveLength(20)
    },
  )

  test.each([1, 3, 5, 20, 100])('of %d is all there for who comes to one edge only, all at once', async count => {
    const world = await manyEdges(4, { perAddress: `${count}/1h` })
    for (let n = 0; n < count + 20; n++) world.send(2)
    await world.go(100)
    expect([world.admittedMs.length, world.refusals.length]).toEqual([count, 20])
  })

  test.each([1, 3, 5, 20, 100])(
    'of %d is not exceeded by a burst to all of them in the same millisecond',
    async count => {
      const world = await manyEdges(4, { perAddress: `${count}/1h` })
      for (let n = 0; n < 4 * count; n++) world.send(n % 4)
      await world.go(200)
      expect(world.admittedMs).toHaveLength(count)
    },
  )

  test('of a network holds for all its addresses, at all edges; each address has its own beside it', async () => {
    const world = await manyEdges(4, { perAddress: '30/1h', v4Network: '100/1h' })
    for (let n = 0; n < 400; n++) world.send(n % 4, `203.0.113.${n % 200}`)
    await world.go(200)
    expect(world.admittedMs).toHaveLength(100)
    expect(new Set(world.refusals.map(({ policy }) => policy))).toEqual(new Set(['per-network']))
    for (let n = 0; n < 60; n++) world.send(n % 4, '203.0.114.1')
    await world.go(200)
    expect(world.admittedMs).toHaveLength(130)
    expect(world.refusals.at(-1)?.policy).toBe('per-address')
  })

  test('slides: never more than the count in any window, and all of it in every one, whatever the crowd does', async () => {
    for (const [rate, count, exactly] of [
      ['5/200ms', 5, true],
      ['40/200ms', 40, true],
      ['800/200ms', 800, false],
    ] as const) {
      const chance = seededRandom(newSeed())
      const world = await manyEdges(4, { perAddress: rate })
      const fromMs = world.clock.ms
      await world.go(1_000, () => {
        for (let n = 0; n < count / 20; n++) world.send(Math.floor(chance.next() * 4))
      })
      const most = world.most(200)
      const least = Math.min(...[200, 400, 600].map(ms => world.between(fromMs + ms, fromMs + ms + 200)))
      console.log(`${rate} over 4 edges: at most ${most}, at least ${least} in a window; ${world.counts.batches} calls`)
      expect(most).toBeLessThanOrEqual(exactly ? count : count * 1.1)
      expect(least).toBeGreaterThanOrEqual(count * 0.9)
    }
  }, 300_000)

  test('costs nothing for a crowd that clicks once, and next to nothing for one that is refused', async () => {
    const world = await manyEdges(4, { perAddress: '5/1s' })
    for (let n = 0; n < 5_000; n++) world.send(n % 4, `buyer ${n}`)
    expect(world.admittedMs).toHaveLength(5_000)
    expect(world.counts.asked).toBe(0)
    for (let n = 0; n < 40; n++) world.send(0)
    await world.go(20)
    const { asked } = world.counts
    const refusedBefore = world.refusals.length
    for (let n = 0; n < 10_000; n++) world.send(0)
    expect(world.refusals.length - refusedBefore).toBe(10_000)
    expect(world.counts.asked).toBe(asked)
  })

  test('is told with the limit that refused and when to come back', async () => {
    const world = await manyEdges(4, { perAddress: '4/10s' })
    for (let n = 0; n < 4; n++) world.send(n)
    await world.go(2_500)
    for (let n = 0; n < 4; n++) world.send(n)
    await world.go(50)
    for (const refused of world.refusals)
      expect(refused).toEqual({ kind: 'rate_limited', policy: 'per-address', limit: 4, windowS: 10, retryAfterS: 8 })
    expect(world.refusals).toHaveLength(4)
  })
})

describe('when they can’t be asked', () => {
  test('each edge holds its part, all of them together no more than the limit, and afterwards it is right again', async () => {
    const world = await manyEdges(4, { perAddress: '20/200ms' })
    const crowd = () => {
      for (let edge = 0; edge < 4; edge++) for (let n = 0; n < 2; n++) world.send(edge)
    }
    await world.go(600, crowd)
    expect(world.most(200)).toBe(20)
    world.counts.away = true
    const awayMs = world.clock.ms + 200
    await world.go(1_000, crowd)
    const away = [0, 200, 400, 600].map(ms => world.between(awayMs + ms, awayMs + ms + 200))
    expect(away).toEqual([20, 20, 20, 20])
    world.counts.away = false
    await world.go(1_000, crowd)
    const backMs = world.clock.ms
    await world.go(600, crowd)
    const back = [0, 200, 400].map(ms => world.between(backMs + ms, backMs + ms + 200))
    console.log(`20/200ms over 4 edges: away ${away.join(' ')}, back ${back.join(' ')}`)
    for (const one of back) expect(one).toBeGreaterThanOrEqual(18)
    for (const one of back) expect(one).toBeLessThanOrEqual(20)
  }, 300_000)

  test('what was admitted meanwhile counts afterwards', async () => {
    const world = await manyEdges(4, { perAddress: '20/1h' })
    for (let n = 0; n < 12; n++) world.send(n % 4)
    await world.go(50)
    world.counts.away = true
    for (let n = 0; n < 12; n++) world.send(n % 4)
    await world.go(1_500)
    expect(world.admittedMs).toHaveLength(20)
    world.counts.away = false
    await world.go(2_500)
    for (let n = 0; n < 12; n++) world.send(n % 4)
    await world.go(200)
    expect(world.admittedMs).toHaveLength(20)
  }, 300_000)

  test('a key that was cold before, and admitted meanwhile, counts afterwards too', async () => {
    const world = await manyEdges(4, { perAddress: '20/1h' })
    world.counts.away = true
    await world.go(600)
    for (let n = 0; n < 40; n++) world.send(n % 4)
    await world.go(600)
    expect(world.admittedMs).toHaveLength(20)
    world.counts.away = false
    await world.go(600)
    for (let n = 0; n < 40; n++) world.send(n % 4)
    await world.go(600)
    expect(world.admittedMs).toHaveLength(20)
  }, 300_000)

  test('from the start: the limit is divided among as many as there may be', async () => {
    const world = await manyEdges(2, { perAddress: '20/1h' }, { edgesAssumed: 5, startMs: 0 })
    world.counts.away = true
    await world.go(2)
    for (let n = 0; n < 50; n++) world.send(n % 2)
    await world.go(10)
    expect(world.admittedMs).toHaveLength(8)
  })

  test('no edge is shut out: with more edges than the count, each admits one', async () => {
    const world = await manyEdges(4, { perAddress: '2/1h' })
    world.counts.away = true
    await world.go(600)
    for (let n = 0; n < 40; n++) world.send(n % 4)
    await world.go(10)
    expect(world.admittedMs).toHaveLength(4)
  })

  test('a request whose answer does not come is judged by the edge’s part within a second', async () => {
    const world = await manyEdges(4, { perAddress: '8/1h' }, { latencyMs: 5_000 })
    for (let n = 0; n < 5; n++) world.send(0)
    await world.go(1_001)
    expect(world.admittedMs.length + world.refusals.length).toBe(5)
    expect(world.admittedMs).toHaveLength(2)
  })
})

describe('edges come and go', () => {
  test('the part of one that died is divided among the others a few seconds later', async () => {
    const world = await manyEdges(4, { perAddress: '30/1h' })
    world.alive.delete(3)
    await world.go(7_000)
    expect(world.edges[0]!.sharing.edges).toBe(3)
    for (let n = 0; n < 60; n++) world.send(n % 3)
    await world.go(200)
    expect(world.admittedMs).toHaveLength(30)
  }, 300_000)

  test('as long as it is not known to be dead, its part is kept back and is not granted twice', async () => {
    const world = await manyEdges(4, { perAddress: '40/2s' })
    world.alive.delete(3)
    world.counts.deaf = true
    for (let n = 0; n < 60; n++) world.send(0)
    await world.go(600)
    expect(world.admittedMs).toHaveLength(40 - 3 * 5)
    expect(world.refusals).toHaveLength(60 - 25)
    expect(world.counts.batches).toBeLessThan(20)
  })

  test('a place that lost its memory hands out nothing twice once the edges have joined again', async () => {
    const world = await manyEdges(4, { perAddress: '40/1h' })
    for (let n = 0; n < 40; n++) world.send(n % 4)
    await world.go(100)
    expect(world.admittedMs).toHaveLength(40)
    world.counts.forget()
    await world.go(600)
    for (let n = 0; n < 4; n++) world.send(n)
    await world.go(100)
    const afterwards = world.admittedMs.length
    expect(afterwards).toBeLessThanOrEqual(44)
    for (let n = 0; n < 100; n++) world.send(n % 4)
    await world.go(200)
    expect(world.admittedMs).toHaveLength(afterwards)
  })

  test('a single edge asks no questions', async () => {
    const world = await manyEdges(1, { perAddress: '10/1s' })
    for (let n = 0; n < 30; n++) world.send(0)
    expect([world.admittedMs.length, world.refusals.length, world.counts.asked]).toEqual([10, 20, 0])
  })
})

test('nothing is used up where the other limit refuses', async () => {
  const world = await manyEdges(4, { perAddress: '10/1h', total: '4/50ms' })
  for (let n = 0; n < 100; n++) {
    for (let edge = 0; edge < 4; edge++) world.send(edge)
    await world.go(5)
  }
  expect(world.admittedMs).toHaveLength(10)
  expect(world.refusals.some(({ policy }) => policy === 'total')).toBe(true)
  expect(world.refusals.at(-1)?.policy).toBe('per-address')
})

test('refusals are counted by what they rest on', async () => {
  const counted: Record<string, number> = {}
  const meters = {
    ...noMeters,
    count: (family: string, which: string, by = 1) => {
      counted[`${family} ${which}`] = (counted[`${family} ${which}`] ?? 0) + by
    },
  }
  const world = await manyEdges(4, { perAddress: '8/1h' }, { meters })
  for (let n = 0; n < 40; n++) world.send(n % 4)
  await world.go(200)
  expect(counted['rate_refusals shared']).toBe(32)
  world.counts.away = true
  await world.go(1_000)
  for (let n = 0; n < 8; n++) world.send(n % 4)
  expect(counted['rate_refusals shared']).toBe(40)
  for (let n = 0; n < 12; n++) world.send(n % 4, 'ben')
  expect(counted['rate_refusals alone']).toBe(4)
  expect(counted['rate_questions failed']).toBeGreaterThan(0)
})

test('the price of a look (printed, not judged)', async () => {
  const world = await manyEdges(4, { perAddress: '5/1s', total: '1000000000/1s' })
  const addresses = Array.from({ length: 10_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`)
  const price = (times: number, act: (n: number) => unknown) => {
    const from = systemClock.elapsed()
    for (let n = 0; n < times; n++) act(n)
    return Math.round(((systemClock.elapsed() - from) * 1e6) / times)
  }
  const { limits } = world.edges[0]!
  console.log(`admitted without asking: ${price(10_000, n => limits.admitAddress(addresses[n]!))} ns`)
  for (let n = 0; n < 20; n++) world.send(0, 'ann')
  await world.go(20)
  const { asked } = world.counts
  console.log(`refused without asking: ${price(200_000, () => limits.admitAddress('ann'))} ns`)
  expect(world.counts.asked).toBe(asked)
})

describe('a limit that two of four edges have', () => {
  test('is exact between these two, and neither waits for the others', async () => {
    const world = await manyEdges(4, { perAddress: '100/1h' }, { limited: 2 })
    const fromMs = world.clock.ms
    for (let n = 0; n < 120; n++) world.send(n % 2)
    for (let n = 0; n < 50; n++) world.send(2 + (n % 2))
    await world.go(60)
    expect([world.admittedMs.length, world.refusals.length]).toEqual([150, 20])
    console.log(`  the last was admitted after ${Math.max(...world.admittedMs) - fromMs} ms`)
    for (const { sharing } of world.edges)
      expect(sharing.differences).toEqual([{ limit: 'orders-per-address', words: '100/1h at 2 edges, off at 2' }])
  })

  test('is right when another edge gets it, and when one that had it is gone', async () => {
    const world = await manyEdges(3, { perAddress: '60/1h' }, { limited: 2 })
    world.alive.delete(2)
    await world.go(7_000)
    expect(world.edges[0]!.sharing.edgesWith('orders-per-address')).toBe(2)
    expect(world.edges[0]!.sharing.differences).toEqual([])
    world.alive.delete(1)
    await world.go(7_000)
    for (let n = 0; n < 70; n++) world.send(0)
    await world.go(50)
    expect(world.admittedMs).toHaveLength(60)
  })
})

test('edges that do not join are waited for once, not by every request', async () => {
  const world = await manyEdges(4, { perAddress: '40/1h' })
  world.counts.deaf = true
  let waitedMs = 0
  for (let n = 0; n < 45; n++) {
    const fromMs = world.clock.ms
    const before = world.admittedMs.length + world.refusals.length
    world.send(0)
    while (world.admittedMs.length + world.refusals.length === before) await world.go(1)
    waitedMs += world.clock.ms - fromMs
  }
  console.log(`  ${world.admittedMs.length} admitted, ${world.refusals.length} refused, ${waitedMs} ms waited in all`)
  expect(world.refusals.length).toBeGreaterThan(5)
  expect(waitedMs).toBeLessThan(2 * 560)
})
