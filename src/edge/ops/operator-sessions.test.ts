import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { createOperatorSessions } from './operator-sessions.ts'

function stage(secure = false) {
  let ms = 0
  const pass = (more: number) => {
    ms += more
  }
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
  const trusts = (request: Request) => request.headers.get('origin') !== 'https://elsewhere.example'
  const sessions = createOperatorSessions({ clock, random: systemRandom, secure, trusts })
  return { sessions, pass }
}

function asked(method: string, cookie: string, headers: Record<string, string> = {}): Request {
  return new Request('http://shop.example/api/admin/sales', { method, headers: { cookie, ...headers } })
}

const cookieOf = (header: string) => header.split(';')[0] ?? ''
const FROM_PAGE = { 'x-stampede-ops': '1' }

test('opens a session that only our own page can use to change something', () => {
  const { sessions } = stage()
  const cookie = cookieOf(sessions.open('ada'))
  expect(sessions.operatorOf(asked('GET', cookie))).toBe('ada')
  expect(sessions.operatorOf(asked('POST', cookie, FROM_PAGE))).toBe('ada')
  expect(sessions.operatorOf(asked('POST', cookie))).toBeUndefined()
  expect(sessions.operatorOf(asked('DELETE', cookie))).toBeUndefined()
  const foreign = { ...FROM_PAGE, origin: 'https://elsewhere.example' }
  expect(sessions.operatorOf(asked('POST', cookie, foreign))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', cookie, { origin: 'https://elsewhere.example' }))).toBeUndefined()
})

test('keeps the cookie from scripts and other sites, and from plain HTTP where the shop has HTTPS', () => {
  expect(stage().sessions.open('ada')).toMatch(
    /^stampede_ops=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  expect(stage(true).sessions.open('ada')).toEndWith('; Secure')
})

test('ends a session when it is closed, and after its time', () => {
  const { sessions, pass } = stage()
  const first = cookieOf(sessions.open('ada'))
  const second = cookieOf(sessions.open('bob'))
  expect(sessions.close(asked('DELETE', first, FROM_PAGE))).toContain('Max-Age=0')
  expect(sessions.operatorOf(asked('GET', first))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', `x=1; ${first}; ${second}`))).toBe('bob')
  pass(12 * 3600 * 1000)
  expect(sessions.operatorOf(asked('GET', second))).toBeUndefined()
})

test('keeps a bounded number, and lets the oldest go', () => {
  const { sessions } = stage()
  const cookies = Array.from({ length: 1001 }, (_, i) => cookieOf(sessions.open(`operator-${i}`)))
  expect(sessions.operatorOf(asked('GET', cookies[0] ?? ''))).toBeUndefined()
  expect(sessions.operatorOf(asked('GET', cookies[1] ?? ''))).toBe('operator-1')
  expect(sessions.operatorOf(asked('GET', cookies[1000] ?? ''))).toBe('operator-1000')
})
