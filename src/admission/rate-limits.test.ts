import { describe, expect, test } from 'bun:test'
import { type Clock, systemClock } from '../base/clock.ts'
import { seededRandom, systemRandom } from '../base/random.ts'
import { parseRate } from './rate-limit-policy.ts'
import { createCallLimits, createRateLimits } from './rate-limits.ts'

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

interface RateTexts {
  readonly perAddress?: string
  readonly v4Network?: string
  readonly v6Subnet?: string
  readonly v6Home?: string
  readonly v6Site?: string
  readonly perBuyer?: string
  readonly perItem?: string
  readonly total?: string
}

function limits(rates: RateTexts) {
  const clock = manualClock()
  const rate = (text = 'off') => parseRate(text)
  const made = createRateLimits({
    perAddress: rate(rates.perAddress),
    networks: {
      v4Network: rate(rates.v4Network),
      v6Subnet: rate(rates.v6Subnet ?? rates.perAddress),
      v6Home: rate(rates.v6Home),
      v6Site: rate(rates.v6Site),
    },
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

describe('the networks around an address', () => {
  test('have allowances of their own beside it, and a refusal of a wider one counts nowhere', () => {
    const { clock, admitAddress } = limits({ perAddress: '3/1s', v4Network: '5/1s', total: '7/1s' })
    const asks = (address: string, count: number) =>
      Array.from({ length: count }, () => admitAddress(address)?.policy ?? 'admitted')
    expect(asks('203.0.113.1', 4)).toEqual(['admitted', 'admitted', 'admitted', 'per-address'])
    expect(asks('203.0.113.2', 3)).toEqual(['admitted', 'admitted', 'per-network'])
    expect(asks('203.0.113.3', 1)).toEqual(['per-network'])
    expect(asks('203.0.114.3', 3)).toEqual(['admitted', 'admitted', 'total'])
    clock.ms = 1_000
    expect(asks('203.0.113.3', 3)).toEqual(['admitted', 'admitted', 'admitted'])
  })

  test('of IPv6: 65,536 subnets of a /48 have one allowance together, and 256 of a /56 a smaller one', () => {
    const { admitAddress } = limits({ perAddress: '100/1s', v6Home: '400/1s', v6Site: '2000/1s', v4Network: '1/1s' })
    const admitted = new Map<string, number>()
    for (let subnet = 0; subnet < 65_536; subnet++) {
      const policy = admitAddress(`2001:db8:1:${subnet.toString(16)}::/64`)?.policy ?? 'admitted'
      admitted.set(policy, (admitted.get(policy) ?? 0) + 1)
    }
    expect(admitted.get('admitted')).toBe(2_000)
    expect(admitted.get('per-site')).toBe(65_536 - 2_000)
    let home = 0
    for (let subnet = 0; subnet < 1_024; subnet++)
      if (admitAddress(`2001:db8:2:1${(subnet & 255).toString(16).padStart(2, '0')}::/64`) === undefined) home += 1
    expect(home).toBe(400)
    expect(admitAddress('2001:db8:2:100::/64')?.policy).toBe('per-home')
    expect(admitAddress('2001:db8:2:200::/64')).toBeUndefined()
  })

  test('of IPv6: a /64 has the rate of an address, or its own', () => {
    const same = limits({ perAddress: '1/1s' })
    expect([same.admitAddress('2001:db8:1:1::/64'), same.admitAddress('2001:db8:1:1::/64')?.policy]).toEqual([
      undefined,
      'per-address',
    ])
    const own = limits({ perAddress: '1/1s', v6Subnet: '2/1s' })
    expect(Array.from({ length: 3 }, () => own.admitAddress('2001:db8:1:1::/64')?.policy)).toEqual([
      undefined,
      undefined,
      'per-subnet',
    ])
    expect(Array.from({ length: 2 }, () => own.admitAddress('192.0.2.1')?.policy)).toEqual([undefined, 'per-address'])
  })

  test('are not asked about by the limits of buyers', () => {
    const one = parseRate('1/1h')
    const networks = { v4Network: one, v6Subnet: one, v6Home: one, v6Site: one }
    const clock = manualClock()
    const calls = createCallLimits({ perAddress: one, networks, perBuyer: one, clock, random: seededRandom(1) })
    expect([calls.address('192.0.2.1')?.policy, calls.address('192.0.2.2')?.policy]).toEqual([undefined, 'per-network'])
    expect([calls.buyer('ann')?.policy, calls.buyer('ann')?.policy]).toEqual([undefined, 'per-buyer'])
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
    networks: {
      v4Network: parseRate('100000/1s'),
      v6Subnet: parseRate('100/1s'),
      v6Home: parseRate('100000/1s'),
      v6Site: parseRate('100000/1s'),
    },
    perBuyer: parseRate('5/1s'),
    perItem: parseRate('100000/1s'),
    total: parseRate('1000000000/1s'),
    clock: systemClock,
    random: systemRandom,
  })
  const addresses = Array.from({ length: 10_000 }, (_, n) => addressOf(n * 7919))
  const subnets = Array.from({ length: 10_000 }, (_, n) => `2001:db8:${(n >> 8).toString(16)}:${n.toString(16)}::/64`)
  const price = (times: number, act: (n: number) => unknown) => {
    const from = systemClock.elapsed()
    for (let n = 0; n < times; n++) act(n)
    return Math.round(((systemClock.elapsed() - from) * 1e6) / times)
  }
  const parts = {
    'address, /56, /48 and total, 10,000 subnets': price(500_000, n => made.admitAddress(subnets[n % 10_000]!)),
    'address, /24 and total, 10,000 addresses': price(500_000, n => made.admitAddress(addresses[n % 10_000]!)),
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
