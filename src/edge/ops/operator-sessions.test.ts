import { expect, test } from 'bun:test'
import { createOperators } from '../../admission/operator.ts'
import type { Clock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { OperatorSessions } from './operator-sessions.ts'

const SESSION_MS = 12 * 3600 * 1000
const TOKENS: Parameters<typeof createOperators>[0] = [
  { name: 'ada', role: 'admin', token: 'token-of-ada' },
  { name: 'bob', role: 'viewer', token: 'token-of-bob' },
]

function stage({ secure = false, secret = 'the secret of all edges', tokens = TOKENS } = {}) {
  let ms = 1_800_000_000_000
  const pass = (more: number) => {
    ms += more
  }
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
  const isHome = (request: Request) => request.headers.get('origin') !== 'https://elsewhere.example'
  const operators = createOperators(tokens)
  const sessions = new OperatorSessions({ secret, operators, clock, random: systemRandom, secure, isHome })
  return { sessions, pass }
}

function asked(method: string, cookie: string, headers: Record<string, string> = {}): Request {
  return new Request('http://shop.example/api/admin/sales', { method, headers: { cookie, ...headers } })
}

const cookieOf = ([first]: readonly string[]) => first?.split(';')[0] ?? ''
const FROM_PAGE = { 'x-stampede-ops': '1' }

test('opens a session that only our own page can use to change something', () => {
  const { sessions } = stage()
  const cookie = cookieOf(sessions.open('token-of-ada'))
  expect(sessions.operatorOf(asked('GET', cookie))).toMatchObject({ name: 'ada' })
  expect(sessions.operatorOf(asked('POST', cookie, FROM_PAGE))).toMatchObject({ name: 'ada' })
  expect(sessions.operatorOf(asked('POST', cookie))).toBeUndefined()
  expect(sessions.operatorOf(asked('DELETE', cookie))).toBeUndefined()
  const foreign = { ...FROM_PAGE, origin: 'https://elsewhere.example' }
  expect(sessions.operatorOf(asked('POST', cookie, foreign))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', cookie, { origin: 'https://elsewhere.example' }))).toBeUndefined()
})

test('keeps the cookie from scripts and other sites, and from plain HTTP where the shop has HTTPS', () => {
  expect(stage().sessions.open('token-of-ada')).toEqual([
    expect.stringMatching(/^stampede_ops=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/),
  ])
  const [first, old] = stage({ secure: true }).sessions.open('token-of-ada')
  expect(first).toMatch(/^__Host-stampede_ops=.*Path=\/;.*; Secure$/)
  expect(old).toMatch(/^stampede_ops=.*; Secure$/)
})

test('ends a session when it is closed, and after its time', () => {
  const { sessions, pass } = stage()
  const first = cookieOf(sessions.open('token-of-ada'))
  const second = cookieOf(sessions.open('token-of-bob'))
  expect(sessions.close(asked('DELETE', first, FROM_PAGE))).toEqual([expect.stringContaining('Max-Age=0')])
  expect(sessions.operatorOf(asked('GET', first))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', `x=1; ${first}; ${second}`))).toMatchObject({ name: 'bob' })
  pass(SESSION_MS)
  expect(sessions.operatorOf(asked('GET', second))).toBeUndefined()
})

test('a session opened at one edge is good at every other, until its time is up', () => {
  const [here, there] = [stage(), stage()]
  const cookie = cookieOf(here.sessions.open('token-of-ada'))
  expect(there.sessions.operatorOf(asked('GET', cookie))).toMatchObject({ name: 'ada' })
  expect(there.sessions.operatorOf(asked('POST', cookie, FROM_PAGE))).toMatchObject({ name: 'ada' })
  there.pass(SESSION_MS)
  expect(there.sessions.operatorOf(asked('GET', cookie))).toBeUndefined()
  expect(here.sessions.operatorOf(asked('GET', cookie))).toMatchObject({ name: 'ada' })
})

test('a session ends with its token: changed, removed, or gone to another name', () => {
  const cookie = cookieOf(stage().sessions.open('token-of-ada'))
  const after = (tokens: typeof TOKENS) => stage({ tokens }).sessions.operatorOf(asked('GET', cookie))
  const [, bob] = TOKENS
  const [ada] = TOKENS
  expect(after([{ ...ada!, token: 'another' }, bob!])).toBeUndefined()
  expect(after([bob!])).toBeUndefined()
  expect(after([{ ...ada!, name: 'eve' }, bob!])).toBeUndefined()
  // Another role changes what the session may do, at once.
  expect(after([{ ...ada!, role: 'viewer' }, bob!])).toEqual({ name: 'ada', role: 'viewer' })
})

test('nothing of a session can be changed, and nobody without the secret can make one', () => {
  const { sessions } = stage()
  const cookie = cookieOf(sessions.open('token-of-ada'))
  const [v = '', name = '', until = '', id = '', signature = ''] = cookie.slice('stampede_ops='.length).split('.')
  const bob = Buffer.from('bob').toString('base64url')
  const forged = [
    [v, bob, until, id, signature],
    [v, name, `${Number(until) + 1}`, id, signature],
    [v, name, until, `${id.startsWith('A') ? 'B' : 'A'}${id.slice(1)}`, signature],
    [v, name, until, id, 'A'.repeat(43)],
    [v, name, until, id, ''],
    [v, name, until, id],
    [v, name, until, `${id}.${id}`, signature],
    [],
  ]
  for (const parts of forged)
    expect(sessions.operatorOf(asked('GET', `stampede_ops=${parts.join('.')}`)), parts.join('.')).toBeUndefined()
  expect(stage({ secret: 'another' }).sessions.operatorOf(asked('GET', cookie))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', cookie))).toMatchObject({ name: 'ada' })
})

test('remembers a bounded number of ended sessions, and only of those that stood', () => {
  const { sessions } = stage()
  const opened = () => cookieOf(sessions.open('token-of-ada'))
  const end = (cookie: string) => sessions.close(asked('DELETE', cookie, FROM_PAGE))
  const first = opened()
  end(first)
  const elsewhere = stage({ secret: 'another' }).sessions
  for (let i = 0; i < 1000; i++) end(cookieOf(elsewhere.open('token-of-ada')))
  for (let i = 0; i < 999; i++) end(opened())
  expect(sessions.operatorOf(asked('GET', first)), 'still remembered').toBeUndefined()
  const last = opened()
  end(last)
  expect(sessions.operatorOf(asked('GET', last))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', first)), 'the oldest of 1001 is forgotten').toMatchObject({ name: 'ada' })
})
