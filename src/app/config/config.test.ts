import { expect, test } from 'bun:test'
import { faultPoint } from '../../base/fault-points.ts'
import { ConfigError, readConfig, readConfigForTools } from './config.ts'
import { SETTINGS } from './settings.ts'

const CLUSTER = {
  DATABASE_URL: 'postgres://db/stampede',
  ADMIN_TOKEN: 'a'.repeat(20),
  TICKET_KEYS: `k:${'x'.repeat(40)}`,
  BUYER_JWT_SECRET: 'b'.repeat(32),
}

test('every kind of Redis address is accepted, and its passwords are not shown', () => {
  for (const REDIS_URL of [
    'redis://:secret@host:6379/0',
    'redis-sentinel://:secret@a:26379,b:26379/name?sentinelPassword=secret',
    'redis-cluster://user:secret@a:6379,b:6379',
  ]) {
    const config = readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'replica' })
    expect(config.redis).toMatchObject({ url: REDIS_URL, durability: 'replica', replicas: 1 })
    expect(JSON.stringify(config.shown)).not.toContain('secret')
  }
})

test('no part of a password reaches the log, however the address is written', () => {
  for (const [DATABASE_URL, REDIS_URL] of [
    ['postgres://user:one@two/three@host/db', 'redis://:one@two@host:6379/0'],
    ['postgres://user@host/db?sslmode=require&password=two', 'redis://host:6379/0'],
  ] as const) {
    const shown = JSON.stringify(readConfig({ ...CLUSTER, DATA_DIR: '/data', DATABASE_URL, REDIS_URL }).shown)
    expect(shown).not.toMatch(/one|two|three/)
    expect(shown).toContain('host')
  }
})

test('an address that can not be read is refused with one line, without its password', () => {
  for (const REDIS_URL of ['redis-sentinel://:secret@a:26379', 'tcp://:secret@a:1', 'redis-cluster://:secret@a:1/4'])
    expect(() => readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'replica' })).toThrow(/^REDIS_URL: [^\n]+$/)
  for (const REDIS_URL of ['redis-sentinel://:secret@a:26379', 'tcp://:secret@a:1'])
    expect(() => readConfig({ ...CLUSTER, REDIS_URL })).not.toThrow(/secret/)
})

test('E11: Sentinel and Cluster need REDIS_DURABILITY=replica; disk is refused, and memory must be set explicitly', () => {
  for (const REDIS_URL of ['redis-sentinel://a:1/name', 'redis-cluster://a:1']) {
    for (const wish of [{}, { REDIS_DURABILITY: 'disk' }])
      expect(() => readConfig({ ...CLUSTER, REDIS_URL, ...wish })).toThrow(
        /^REDIS_DURABILITY=disk [^\n]*REDIS_DURABILITY=replica[^\n]*min-replicas-to-write[^\n]*$/,
      )
    expect(readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'memory' }).redis?.durability).toBe('memory')
  }
  expect(readConfig({ ...CLUSTER, REDIS_URL: 'redis://a:1' }).redis?.durability).toBe('disk')
})

/** The one line that stops it, without anything that may be a secret. */
function refusal(environment: Record<string, string>): string {
  try {
    readConfig(environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const line = (error as Error).message
    expect(line).not.toContain('\n')
    expect(line).not.toContain('hunter2')
    return line
  }
  return 'nothing stopped it'
}

test('ticket keys that could sign no ticket are refused, and named by their position', () => {
  const good = 'a:0123456789abcdef-hunter2'
  for (const [TICKET_KEYS, words] of [
    ['hunter2', 'ticket key 1 is not id:secret'],
    ['k:hunter2', 'ticket key 1: the secret is shorter than 16 bytes'],
    [`${good},a b:0123456789abcdef`, 'ticket key 2: the id'],
    [`${good},${good}`, 'ticket key 2 has the same id as ticket key 1'],
  ] as const)
    expect(refusal({ TICKET_KEYS })).toStartWith(`TICKET_KEYS: ${words}`)
  expect(readConfig({ TICKET_KEYS: good }).ticketKeys).toBe(good)
})

test('operators whose name or token can not be used are refused, and named by their position', () => {
  const token = '0123456789abcdef-hunter2'
  for (const [wrong, words] of [
    [{ ADMIN_TOKENS: `a b:${token}` }, 'ADMIN_TOKENS: entry 1: the name must be'],
    [{ ADMIN_TOKENS: `ann:${'x'.repeat(1025)}` }, 'ADMIN_TOKENS: entry 1: the token must have'],
    [{ ADMIN_TOKENS: `ann:${token},bob:hunter2` }, 'ADMIN_TOKENS: entry 2 is not name:token or name:role:token'],
    [{ ADMIN_TOKENS: `ann:viewer:hunter2` }, 'ADMIN_TOKENS: entry 1 is not name:token or name:role:token'],
    [{ ADMIN_TOKENS: `ann:viewer:${token},ann:${token}-2` }, 'ADMIN_TOKENS: entry 2 has the same name as entry 1'],
    [
      { ADMIN_TOKENS: `admin:viewer:${token}`, ADMIN_TOKEN: `${token}-2` },
      'ADMIN_TOKENS: entry 1 is named admin, as is ADMIN_TOKEN',
    ],
    [{ ADMIN_TOKENS: `ann:${token},bob:${token}` }, 'ADMIN_TOKENS: entry 2 has the same token as entry 1'],
    [{ ADMIN_TOKENS: `,ann:${token}`, ADMIN_TOKEN: token }, 'ADMIN_TOKENS: entry 2 has the same token as ADMIN_TOKEN'],
    [{ ADMIN_TOKENS: ' , ' }, 'ADMIN_TOKENS: names no operator'],
    [{ ADMIN_TOKEN: 'x'.repeat(1025) }, 'ADMIN_TOKEN: must have at most 1024 characters'],
  ] as const)
    expect(refusal(wrong)).toStartWith(words)
  const { adminTokens } = readConfig({ ADMIN_TOKENS: `ann:${token},`, ADMIN_TOKEN: `${token}-2` })
  expect(adminTokens.map(({ name, role }) => `${name} ${role}`)).toEqual(['admin admin', 'ann admin'])
  const roles = readConfig({ ADMIN_TOKENS: `ann:viewer:${token}, bob : operator : ${token}-2,cy:admin:${token}-3` })
  expect(roles.adminTokens.map(({ name, role }) => `${name} ${role}`)).toEqual([
    'ann viewer',
    'bob operator',
    'cy admin',
  ])
  expect(roles.shown.ADMIN_TOKENS).toBe('ann:viewer:[hidden],bob:operator:[hidden],cy:[hidden]')
})

test('an address of the ledger that can not be read is refused, without its password', () => {
  for (const DATABASE_URL of ['postgres://h:abc/db', 'postgres://u:hunter2@h:99999/db', 'postgres://u:hunter2#x@h/db'])
    expect(refusal({ ...CLUSTER, DATABASE_URL })).toStartWith('DATABASE_URL: ')
  for (const DATABASE_URL of [
    'postgres://u@/db?host=/run/postgresql',
    'postgres:///db',
    'postgresql://u:p w@h:5432/db',
    'postgres://u:p%25@[::1]:5432/db?sslmode=require',
  ])
    expect(readConfig({ ...CLUSTER, DATABASE_URL }).databaseUrl).toBe(DATABASE_URL)
})

test('one port for two listeners, and a public address with a query or fragment, are refused', () => {
  expect(refusal({ METRICS_PORT: '8080' })).toStartWith('METRICS_PORT: ')
  expect(refusal({ PORT: '9100', METRICS_PORT: '9100' })).toStartWith('METRICS_PORT: ')
  expect(readConfig({ PORT: '0', METRICS_PORT: '9100' }).metricsPort).toBe(9100)
  for (const PUBLIC_URL of ['https://a/?q=1', 'https://a/shop?', 'https://a/#top'])
    expect(refusal({ PUBLIC_URL })).toStartWith('PUBLIC_URL: ')
  expect(readConfig({ PUBLIC_URL: 'https://a/shop/' }).publicUrl).toBe('https://a/shop')
})

test('settings of Redis without REDIS_URL are refused', () => {
  for (const wrong of [
    { REDIS_REPLICAS: '2' },
    { REDIS_DURABILITY: 'replica' },
    { REDIS_DURABILITY: 'memory' },
    { REDIS_DURABILITY_UNVERIFIED: 'on' },
  ])
    expect(refusal(wrong)).toBe(`${Object.keys(wrong)[0]} needs REDIS_URL: without it the gate is in the process`)
  // What it is anyway may be said.
  expect(refusal({ REDIS_DURABILITY: 'disk', REDIS_DURABILITY_UNVERIFIED: 'off' })).toBe('nothing stopped it')
})

test('a token is shown under the setting it came from, whatever its operator is called', () => {
  const named = readConfig({ ...CLUSTER, ADMIN_TOKEN: '', ADMIN_TOKENS: 'admin:0123456789abcdef' }).shown
  expect(named).toMatchObject({ ADMIN_TOKEN: null, ADMIN_TOKENS: 'admin:[hidden]' })
})

test('what is in force is shown under the names of the settings, and can be set again as it is shown', () => {
  const config = readConfig({ ...CLUSTER, RATE_PER_ITEM: '90/1500ms burst 3', RATE_TOTAL: '7/2m', DEMO: 'off' })
  const shown = config.shown
  expect(Object.keys(SETTINGS).filter(name => !(name in shown))).toEqual(['ETCD_HOSTS'])
  expect(shown).toMatchObject({ RATE_PER_ADDRESS: '100/1s', RATE_PER_ITEM: '90/1500ms burst 3', RATE_TOTAL: '7/2m' })
  expect(shown).toMatchObject({ PORT: 8080, DEMO: 'off', ROLES: 'all', ADMIN_TOKEN: '[hidden]' })
  const { missing: _, ...settable } = shown
  const again = Object.entries(settable).filter(([, value]) => value !== null && !String(value).includes('[hidden]'))
  const secrets = Object.fromEntries(
    Object.entries(CLUSTER).filter(([name]) => String(shown[name]).includes('[hidden]')),
  )
  expect(
    readConfig({ ...Object.fromEntries(again.map(([name, value]) => [name, String(value)])), ...secrets }).shown,
  ).toEqual(shown)
})

test('what only a server needs does not stop other commands, and is shown', () => {
  const { DATABASE_URL } = CLUSTER
  const unserved = { DATABASE_URL }
  expect(refusal(unserved)).toStartWith('no buyer could sign in')
  const config = readConfigForTools(unserved)
  expect(config.databaseUrl).toBe(DATABASE_URL)
  expect(config.shown).toMatchObject({ missing: expect.stringMatching(/^no buyer could sign in/) })
  expect(readConfig({}).shown).not.toHaveProperty('missing')

  const cluster = { DATABASE_URL, REDIS_URL: 'redis://a:1', GUEST_SIGN_IN: 'on' }
  expect(refusal(cluster)).toMatch(/^REDIS_URL makes this a cluster.*ADMIN_TOKEN.*TICKET_KEYS/)
  expect(readConfigForTools(cluster).missing).toMatch(/^REDIS_URL makes this a cluster.*ADMIN_TOKEN.*TICKET_KEYS/)
  // A tool would go on with another ledger than the one that is meant.
  expect(() => readConfigForTools({ REDIS_URL: 'redis://a:1' })).toThrow(/DATABASE_URL/)
  expect(() => readConfigForTools({ ...unserved, PORT: 'many' })).toThrow(/^PORT: /)
})

test('parts for trying it out are on by themselves only on a server that its owner alone can reach: embedded, on loopback, without a key', () => {
  const BUYER_JWT_SECRET = 'b'.repeat(32)
  const all = { paymentProviders: ['sandbox'], demo: true, guestSignIn: true, atHome: true }
  const none = { paymentProviders: [], demo: false, guestSignIn: false, atHome: false }
  for (const HOST of ['', '127.0.0.1', '::1', 'localhost']) {
    expect(readConfig({ HOST })).toMatchObject(all)
    expect(readConfig({ HOST, BUYER_JWT_SECRET })).toMatchObject(none)
    expect(readConfig({ HOST, BUYER_JWKS_URL: 'https://shop.example/keys' })).toMatchObject(none)
    expect(readConfig({ HOST, BUYER_JWT_SECRET, DATABASE_URL: 'postgres://db/stampede' })).toMatchObject(none)
  }
  for (const HOST of ['0.0.0.0', '::', '192.0.2.1', 'shop.example'])
    expect(readConfig({ HOST, GUEST_SIGN_IN: 'on' })).toMatchObject({ ...none, guestSignIn: true })
  const named = { HOST: '0.0.0.0', BUYER_JWT_SECRET, PAYMENT_PROVIDERS: 'sandbox', DEMO: 'on' }
  expect(readConfig(named)).toMatchObject({ ...all, guestSignIn: false, atHome: false })
})

test('reading the configuration has no side effect: fault points are checked, and armed by the server that uses it', () => {
  expect(readConfig({ FAULT_POINTS: 'place.before=fail@*' }).faultPoints).toBe('place.before=fail@*')
  expect(faultPoint('place.before')).toBeUndefined()
  expect(refusal({ FAULT_POINTS: 'nowhere=kill' })).toBe('FAULT_POINTS: there is no fault point "nowhere"')
})

test('THREADS is retired: accepted with any value, so that an upgrade starts, and shown as it is set', () => {
  expect(readConfig({ THREADS: '4' })).toMatchObject({ threads: '4', shown: { THREADS: '4' } })
  expect(readConfig({}).shown.THREADS).toBeNull()
})
