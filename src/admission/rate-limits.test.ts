import { describe, expect, test } from 'bun:test'
import { type Clock, systemClock } from '../base/clock.ts'
import { seededRandom, systemRandom } from '../base/random.ts'
import { parseRate } from './rate-limit-policy.ts'
import { createRateLimits } from './rate-limits.ts'

function manualClock() {
  const clock = {
    ms: 0,
    wallMs: 1_800_000_000_000,
    now: () => clock.wallMs,
    elapsed: () => clock.ms,
    sleep: async () => {},
  }
  return clock satisfies Clock
}

function limits(rates: { perAddress?: string; perBuyer?: string; perItem?: string; total?: string }) {
  const clock = manualClock()
  const rate = (text = 'off') => parseRate(text)
  const made = createRateLimits({
    perAddress: rate(rates.perAddress),
    perBuyer: rate(rates.perBuyer),
    perItem: rate(rates.perItem),
    total: rate(rates.total),
    clock,
    random: seededRandom(7),
  })
  return { ...made, clock }
}

const OFF = { perAddress: undefined, perBuyer: undefined, perItem: undefined, total: undefined }
const MB = 1024 * 1024
function memory() {
  Bun.gc(true)
  const { rss, heapUsed } = process.memoryUsage()
  return { rss: rss / MB, heap: heapUsed / MB }
}
const addressOf = (n: number) => `${(n >> 24) & 255}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

describe('rate limits', () => {
  test('name the limit that refused, and when to come back', () => {
    const { clock, admitAddress, admitBuyer } = limits({
      perAddress: '2/10s',
      perBuyer: '1/1m',
      perItem: '1/1h',
      total: '3/1s',
    })
    expect(admitAddress('a')).toBeUndefined()
    clock.ms = 2500
    expect(admitAddress('a')).toBeUndefined()
    expect(admitAddress('a')).toEqual({
      kind: 'rate_limited',
      policy: 'per-address',
      limit: 2,
      windowS: 10,
      retryAfterS: 8,
    })
    expect([admitAddress('b'), admitAddress('c')]).toEqual([undefined, undefined])
    expect(admitAddress('d')).toMatchObject({ policy: 'total', limit: 3, windowS: 1, retryAfterS: 1 })
    expect(admitBuyer('ann', '1')).toBeUndefined()
    expect(admitBuyer('ann', '2')).toMatchObject({ policy: 'per-buyer', limit: 1, windowS: 60, retryAfterS: 60 })
    expect(admitBuyer('bob', '1')).toMatchObject({ policy: 'per-item', limit: 1, windowS: 3600, retryAfterS: 3600 })
  })

  test('count nothing anywhere when the later one refuses', () => {
    const { clock, admitAddress, admitBuyer } = limits({
      perAddress: '2/1h',
      perBuyer: '2/1h',
      perItem: '1/1s',
      total: '1/1s',
    })
    expect([admitAddress('a'), admitBuyer('ann', '1')]).toEqual([undefined, undefined])
    for (let n = 0; n < 10; n++) {
      expect(admitAddress('a')?.policy).toBe('total')
      expect(admitBuyer('ann', '1')?.policy).toBe('per-item')
    }
    clock.ms = 1000
    expect([admitAddress('a'), admitBuyer('ann', '1')]).toEqual([undefined, undefined])
    clock.ms = 2000
    expect([admitAddress('a')?.policy, admitBuyer('ann', '1')?.policy]).toEqual(['per-address', 'per-buyer'])
  })

  test('keep addresses, buyers and items apart, also when they have the same name', () => {
    const { admitAddress, admitBuyer } = limits({ perAddress: '1/1s', perBuyer: '1/1s', perItem: '1/1s' })
    expect([admitAddress('7'), admitBuyer('7', '7'), admitBuyer('8', '8')]).toEqual([undefined, undefined, undefined])
  })

  test('admit everything when off', () => {
    const { admitAddress, admitBuyer } = limits({})
    for (let n = 0; n < 1000; n++) expect([admitAddress('a'), admitBuyer('ann', '1')]).toEqual([undefined, undefined])
  })

  test('neither open nor shut when the wall clock jumps', () => {
    const { clock, admitAddress } = limits({ perAddress: '1/1s' })
    expect(admitAddress('a')).toBeUndefined()
    clock.wallMs += 86_400_000
    expect(admitAddress('a')?.retryAfterS).toBe(1)
    clock.wallMs -= 10 * 86_400_000
    expect(admitAddress('a')?.retryAfterS).toBe(1)
    clock.ms = 1000
    expect(admitAddress('a')).toBeUndefined()
  })
})

describe('an attack from very many addresses', () => {
  test('100,000 at once cost bounded memory, and neither they nor an honest newcomer are refused unjustly', () => {
    const { clock, admitAddress } = limits({ perAddress: '100/1s' })
    const before = memory()
    let admitted = 0
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 100_000; n++) if (admitAddress(addressOf(n)) === undefined) admitted += 1
      for (let n = 0; n < 100; n++) expect(admitAddress(`honest ${round}`)).toBeUndefined()
      expect(admitAddress(`honest ${round}`)?.policy).toBe('per-address')
      clock.ms += 1
    }
    expect(admitted).toBe(300_000)
    const after = memory()
    console.log(
      `100,000 addresses: rss ${before.rss.toFixed(1)} → ${after.rss.toFixed(1)} MB, heap ${before.heap.toFixed(1)} → ${after.heap.toFixed(1)} MB`,
    )
    expect(after.rss - before.rss).toBeLessThan(96)
  })

  test('a million at once and a million one after another do not grow it, and seated buyers notice nothing', () => {
    const { clock, admitAddress } = limits({ perAddress: '100/1s' })
    const flood = (from: number, everyMs: number) => {
      let refused = 0
      for (let n = 0; n < 1_000_000; n++) {
        if (admitAddress(addressOf(from + n)) !== undefined) refused += 1
        clock.ms += everyMs
      }
      return refused
    }
    const empty = memory()
    expect(admitAddress('honest')).toBeUndefined()
    const refusedAtOnce = flood(0, 0)
    for (let n = 0; n < 99; n++) expect(admitAddress('honest')).toBeUndefined()
    expect(admitAddress('honest')?.policy).toBe('per-address')
    const full = memory()
    clock.ms += 1000
    expect(admitAddress('honest')).toBeUndefined()
    clock.ms += 1000
    // A thousand a millisecond would fill the table again; ten do not, and are all admitted.
    const refusedInTurn = flood(1 << 24, 0.1)
    const again = memory()
    console.log(
      `1,000,000 addresses: rss ${empty.rss.toFixed(1)} → ${full.rss.toFixed(1)} MB at once (${refusedAtOnce} refused) → ` +
        `${again.rss.toFixed(1)} MB after another million in turn; heap ${empty.heap.toFixed(1)} → ${full.heap.toFixed(1)} → ${again.heap.toFixed(1)} MB`,
    )
    // 131,072 have slots and 8,192 shared slots admit 100 each, of those that come to them: about 106 each.
    expect(refusedAtOnce).toBeLessThan(1_000_000 - 131_072 - 8192 * 95)
    expect(refusedInTurn).toBe(0)
    expect(full.rss - empty.rss).toBeLessThan(96)
    expect(again.rss - full.rss).toBeLessThan(48)
    expect(full.heap - empty.heap).toBeLessThan(16)
    expect(again.heap - empty.heap).toBeLessThan(16)
  }, 300_000)
})

test('the price of a look (printed, not judged)', () => {
  const made = createRateLimits({
    perAddress: parseRate('100/1s'),
    perBuyer: parseRate('5/1s'),
    perItem: parseRate('100000/1s'),
    total: parseRate('1000000/1s'),
    clock: systemClock,
    random: systemRandom,
  })
  const addresses = Array.from({ length: 10_000 }, (_, n) => addressOf(n * 7919))
  const price = (times: number, act: (n: number) => unknown) => {
    const from = systemClock.elapsed()
    for (let n = 0; n < times; n++) act(n)
    return Math.round(((systemClock.elapsed() - from) * 1e6) / times)
  }
  const parts = {
    'address and total, 10,000 addresses': price(500_000, n => made.admitAddress(addresses[n % 10_000]!)),
    'buyer and item, 10,000 buyers': price(500_000, n => made.admitBuyer(addresses[n % 10_000]!, '1')),
    'one address, admitted or refused': price(500_000, () => made.admitAddress('203.0.113.9')),
  }
  for (const [name, ns] of Object.entries(parts)) console.log(`${name}: ${ns} ns`)
  const clock = manualClock()
  const crowded = createRateLimits({ ...OFF, perAddress: parseRate('100/1s'), clock, random: systemRandom })
  for (let n = 0; n < 262_144; n++) crowded.admitAddress(addressOf(n & 0xffff))
  clock.ms = 1000
  console.log(
    `the look that drops 262,144 old admissions: ${(price(1, () => crowded.admitAddress('a')) / 1e6).toFixed(1)} ms`,
  )
  // In a row: what was admitted before all this may be more than a second old. Long, so that a pause within it changes nothing.
  const row = Array.from({ length: 1_000 }, () => made.admitAddress('203.0.113.9')?.policy)
  expect(row).toContain('per-address')
})
