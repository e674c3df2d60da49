import { expect, test } from 'bun:test'
import { readConfigForTools } from '../../app/config/config.ts'
import { checkShop } from './live-settings.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const READY = {
  DATABASE_URL: 'postgres://shop@db.example/stampede',
  PUBLIC_URL: 'https://shop.example',
  TRUSTED_PROXIES: '10.0.0.0/8',
  BUYER_JWT_SECRET: KEY,
  BUYER_JWT_AUDIENCE: 'stampede',
  ADMIN_TOKENS: `ada:admin:${KEY}1,vera:viewer:${KEY}2`,
  TICKET_KEYS: `k1:${KEY}`,
  ALERT_SLACK_URL: 'https://chat.example/hook',
}

function statesOf(environment: Readonly<Record<string, string>>) {
  const found = checkShop(readConfigForTools(environment))
  for (const { what, state, advice } of found)
    expect([what, state === 'good' || advice !== undefined]).toEqual([what, true])
  return Object.fromEntries(found.map(({ what, state }) => [what.replace('live: ', ''), state]))
}

test('a shop that is ready has nothing to do; one at home is told all that is missing', () => {
  expect(new Set(Object.values(statesOf(READY)))).toEqual(new Set(['good']))
  expect(statesOf({})).toEqual({
    ...{ demo: 'bad', 'sign-in': 'bad', 'operator tokens': 'odd', 'ticket keys': 'good', limits: 'good' },
    ...{ proxy: 'bad', durability: 'odd', alerts: 'odd' },
  })
})

test('each setting that real buyers would suffer from is found, and no secret is printed', () => {
  for (const [change, what, state] of [
    [{ DEMO: 'on' }, 'demo', 'bad'],
    [{ FAULT_POINTS: 'place.before=fail' }, 'tests', 'bad'],
    [{ BUYER_JWT_SECRET: KEY.slice(0, 20) }, 'sign-in', 'bad'],
    [{ BUYER_JWT_EXP: 'optional' }, 'sign-in', 'odd'],
    [{ BUYER_JWT_AUDIENCE: '' }, 'sign-in', 'odd'],
    [{ ADMIN_TOKENS: `ada:admin:${KEY},vera:viewer:${KEY.slice(0, 20)}` }, 'operator tokens', 'bad'],
    [{ ADMIN_TOKENS: `ada:admin:${KEY}` }, 'operator tokens', 'odd'],
    [{ TICKET_KEYS: `k1:${KEY.slice(0, 20)}` }, 'ticket keys', 'bad'],
    [{ RATE_PER_ADDRESS: 'off' }, 'limits', 'bad'],
    [{ RATE_PER_BUYER: 'off' }, 'limits', 'bad'],
    [{ TRUSTED_PROXIES: '' }, 'proxy', 'bad'],
    [{ HOST: '0.0.0.0' }, 'proxy', 'odd'],
    [{ REDIS_URL: 'redis://redis.example', REDIS_DURABILITY: 'memory' }, 'durability', 'bad'],
    [{ REDIS_URL: 'redis://redis.example', REDIS_DURABILITY_UNVERIFIED: 'on' }, 'durability', 'odd'],
    [{ ALERT_SLACK_URL: '' }, 'alerts', 'odd'],
  ] as const) {
    const environment = { ...READY, ...change } as Readonly<Record<string, string>>
    expect([change, statesOf(environment)[what]]).toEqual([change, state])
    expect(JSON.stringify(checkShop(readConfigForTools(environment)))).not.toContain(KEY.slice(0, 20))
  }
})
