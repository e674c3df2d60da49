import { describe, expect, test } from 'bun:test'
import { readConfig } from './config.ts'

const CLUSTER = {
  DATABASE_URL: 'postgres://x@localhost/x',
  REDIS_URL: 'redis://localhost:6379',
  ADMIN_TOKEN: 'x'.repeat(16),
  TICKET_KEYS: `a:${'x'.repeat(32)}`,
  BUYER_JWT_SECRET: 'x'.repeat(32),
}

describe('limits over all edges', () => {
  test('are the default in a cluster, and only there', () => {
    expect(readConfig({}).rateSharing).toBeUndefined()
    expect(readConfig(CLUSTER).rateSharing).toEqual({ edgesAssumed: 4 })
    expect(readConfig({ ...CLUSTER, RATE_SCOPE: 'cluster', RATE_EDGES: '12' }).rateSharing).toEqual({
      edgesAssumed: 12,
    })
    expect(readConfig({ ...CLUSTER, RATE_SCOPE: 'edge' }).rateSharing).toBeUndefined()
  })

  test('need a Redis to be counted in', () => {
    expect(() => readConfig({ RATE_SCOPE: 'cluster' })).toThrow('RATE_SCOPE=cluster needs REDIS_URL')
    expect(() => readConfig({ ...CLUSTER, RATE_SCOPE: 'all' })).toThrow('RATE_SCOPE: must be edge or cluster')
    expect(() => readConfig({ ...CLUSTER, RATE_EDGES: '0' })).toThrow('RATE_EDGES: must lie between 1 and 1024')
  })

  test('are printed as they are set', () => {
    const config = readConfig({ ...CLUSTER, RATE_PER_ADDRESS: '100/1s burst 20', RATE_PER_BUYER: '5/1s' })
    expect(config.shown).toMatchObject({
      RATE_PER_ADDRESS: '100/1s burst 20',
      RATE_PER_BUYER: '5/1s',
      RATE_PER_ITEM: 'off',
      RATE_SCOPE: 'cluster',
    })
  })
})

test('the general limits are so many times those of orders, also in how many may come at once', () => {
  const callRates = (env: Readonly<Record<string, string>>) => readConfig(env).callRates
  expect(callRates({})).toEqual({
    perAddress: { count: 500, windowMs: 1_000 },
    networks: {
      v4Network: { count: 10_000, windowMs: 1_000 },
      v6Subnet: { count: 500, windowMs: 1_000 },
      v6Home: { count: 2_000, windowMs: 1_000 },
      v6Site: { count: 10_000, windowMs: 1_000 },
    },
    perBuyer: { count: 50, windowMs: 1_000 },
    listsPerBuyer: { count: 10, windowMs: 1_000 },
  })
  expect(callRates({ RATE_PER_ADDRESS: 'off', RATE_PER_BUYER: '5/1s burst 2' })).toEqual({
    perAddress: undefined,
    networks: undefined,
    perBuyer: { count: 50, windowMs: 1_000, burst: 20 },
    listsPerBuyer: { count: 10, windowMs: 1_000, burst: 4 },
  })
  expect(callRates({ RATE_PER_ADDRESS: '999999999/1s burst 999999999' }).perAddress).toEqual({
    count: 1_000_000_000,
    windowMs: 1_000,
    burst: 1_000_000_000,
  })
})

test('the limits of networks follow that of an address, unless they are set', () => {
  const networks = (env: Readonly<Record<string, string>>) => readConfig(env).rates.networks
  const a = (count: number) => ({ count, windowMs: 1_000 })
  expect(networks({})).toEqual({ v4Network: a(2_000), v6Subnet: a(100), v6Home: a(400), v6Site: a(2_000) })
  expect(networks({ RATE_PER_ADDRESS: 'off', RATE_PER_IPV6_48: '7/1s' })).toEqual({
    v4Network: undefined,
    v6Subnet: undefined,
    v6Home: undefined,
    v6Site: a(7),
  })
  expect(networks({ RATE_PER_ADDRESS: '10/1s burst 5' }).v4Network).toEqual({ ...a(200), burst: 100 })
  expect(() => networks({ RATE_PER_IPV4_24: 'many' })).toThrow('RATE_PER_IPV4_24: "many" is not a rate')
})
