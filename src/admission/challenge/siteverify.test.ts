import { afterAll, afterEach, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { PROVIDER_SECRET, PROVIDER_SITE_KEY, startWidgetProvider } from '../../../test/harness/widget-provider.ts'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { ChallengeProvider } from '../challenges.ts'
import { createSiteverify } from './siteverify.ts'

const SUBJECT = { sale: '4711', item: '4712', buyer: 'ann', attempt: 1 }
const BOB = { ...SUBJECT, buyer: 'bob' }
const HOST = 'sale.example.com'

const there = await startWidgetProvider()
const lines: string[] = []
afterAll(there.stop)
afterEach(() => {
  there.state.instead = undefined
  lines.length = 0
})

let aheadMs = 0
const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + aheadMs }
const write = (fields: Readonly<Record<string, unknown>>, message: string) =>
  void lines.push(`${message} ${JSON.stringify(fields)} ${fields.err}`)
const log: Log = { debug: write, info: write, warn: write, error: write }

function open(more: Partial<ChallengeProvider> = {}) {
  const provider: ChallengeProvider = {
    name: 'turnstile',
    siteKey: PROVIDER_SITE_KEY,
    secret: PROVIDER_SECRET,
    hostnames: [HOST],
    verifyUrl: there.verifyUrl,
    script: there.script,
    hosts: [there.origin],
    timeoutMs: 60_000,
    whenDown: 'deny',
    ...more,
  }
  return createSiteverify({ provider, secret: 'a secret that all edges share', clock, log })
}

async function solve(office: ReturnType<typeof open>, subject = SUBJECT, more = {}) {
  const { action, cdata } = await office.make(subject)
  return { token: there.mint({ hostname: HOST, action, cdata, ...more }) }
}

test('a solved widget passes, again for the same buyer and attempt, and for no other', async () => {
  const office = open()
  expect(await office.make(SUBJECT)).toMatchObject({ provider: 'turnstile', siteKey: PROVIDER_SITE_KEY })
  const solved = await solve(office)
  expect(await office.check(SUBJECT, solved)).toBe('passed')
  // Another edge, after the answer was lost.
  expect(await open().check(SUBJECT, solved)).toBe('passed')
  expect(await office.check(BOB, solved)).toBe('expired')
  expect(await office.check({ ...SUBJECT, attempt: 2 }, solved)).toBe('expired')
})

test('solved for another buyer, on another host or for another purpose it is worth nothing', async () => {
  const office = open()
  expect(await office.check(BOB, await solve(office))).toBe('foreign')
  for (const other of [
    { hostname: 'evil.example' },
    { hostname: undefined },
    { action: 'login' },
    { cdata: undefined },
  ])
    expect(await office.check(SUBJECT, await solve(office, SUBJECT, other))).toBe('foreign')
})

test('a token that the provider has not made is wrong, and what is no token is not sent', async () => {
  const office = open()
  expect(await office.check(SUBJECT, { token: 'made-up' })).toBe('wrong')
  const before = there.heard.length
  for (const payload of [undefined, null, 'token', {}, { token: '' }, { token: 7 }, { token: 'a b' }])
    expect(await office.check(SUBJECT, payload)).toBe('malformed')
  expect(await office.check(SUBJECT, { token: 'x'.repeat(8_193) })).toBe('malformed')
  expect(there.heard).toHaveLength(before)
})

test('hCaptcha says neither action nor cdata, and sometimes no host: what it says is checked, with the site key', async () => {
  const office = open({ name: 'hcaptcha' })
  const bare = (hostname?: string) => ({ token: there.mint(hostname === undefined ? {} : { hostname }) })
  const solved = bare(HOST)
  expect(await office.check(SUBJECT, solved)).toBe('passed')
  expect(there.heard.at(-1)?.get('sitekey')).toBe(PROVIDER_SITE_KEY)
  expect(await office.check(SUBJECT, solved)).toBe('expired')
  expect(await office.check(SUBJECT, bare())).toBe('passed')
  expect(await office.check(SUBJECT, bare('not-provided'))).toBe('passed')
  expect(await office.check(SUBJECT, bare('evil.example'))).toBe('foreign')
})

const said =
  (body: string, status = 200) =>
  (response: import('node:http').ServerResponse) =>
    void response.writeHead(status).end(body)

test('a provider that fails, lies or redirects has the stated answer, and the log has no secret', async () => {
  const answers = [
    said('', 500),
    said('{"success":true}', 503),
    said('yes'),
    said('{"success":"true"}'),
    said('{"success":1}'),
    said('[]'),
    said(`{"success":true,"hostname":"${'x'.repeat(20_000)}"}`),
    said('{"success":false}'),
    said('{"success":false,"error-codes":["internal-error"]}'),
    (response: import('node:http').ServerResponse) => void response.writeHead(307, { location: there.verifyUrl }).end(),
    (response: import('node:http').ServerResponse) => void response.destroy(),
  ]
  for (const instead of answers) {
    for (const [whenDown, verdict] of [
      ['deny', 'unknown'],
      ['allow', 'waived'],
    ] as const) {
      const office = open({ whenDown })
      const solved = await solve(office)
      there.state.instead = instead
      expect(await office.check(SUBJECT, solved)).toBe(verdict)
      there.state.instead = undefined
    }
  }
  const wrongSecret = open({ secret: 'another-secret' })
  expect(await wrongSecret.check(SUBJECT, await solve(wrongSecret))).toBe('unknown')
  expect(lines.join('\n')).toContain('invalid-input-secret')
  expect(lines.join('\n')).not.toContain(PROVIDER_SECRET)
  expect(lines.join('\n')).not.toContain('another-secret')
})

test('one that hangs is waited for no longer than the time limit, then not asked for a while, then asked again', async () => {
  const office = open({ timeoutMs: 100 })
  const solved = await solve(office)
  there.state.instead = () => {}
  for (let n = 0; n < 5; n++) expect(await office.check(SUBJECT, solved)).toBe('unknown')
  const before = there.heard.length
  for (let n = 0; n < 50; n++) expect(await office.check(SUBJECT, solved)).toBe('unknown')
  expect(there.heard).toHaveLength(before)
  there.state.instead = undefined
  aheadMs += 2_001
  // The one that tries it; the time limit is short, and a slow machine may need several tries.
  let verdict = await office.check(SUBJECT, solved)
  for (let n = 0; n < 50 && verdict !== 'passed'; n++) {
    aheadMs += 2_001
    verdict = await office.check(SUBJECT, solved)
  }
  expect(verdict).toBe('passed')
})

test('checks under way are bounded, and a flood opens nothing', async () => {
  const office = open({ whenDown: 'allow' })
  const waiting: import('node:http').ServerResponse[] = []
  there.state.instead = response => void waiting.push(response)
  const solved = await solve(office)
  const under = Array.from({ length: 256 }, () => office.check(SUBJECT, solved))
  expect(await office.check(SUBJECT, solved)).toBe('unknown')
  await until('all checks are under way', () => waiting.length === 256)
  for (const response of waiting) said('{"success":false,"error-codes":["invalid-input-response"]}')(response)
  expect(new Set(await Promise.all(under))).toEqual(new Set(['wrong']))
})
