import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock } from '../src/base/clock.ts'
import { Playground } from './harness/playground.ts'
import { childrenOf, postgresPid } from './harness/postgres-process.ts'
import { RawSocket } from './harness/raw-socket.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

setDefaultTimeout(300_000)

const TRIES_MAX = 10
const PAGE = { 'x-stampede-ops': '1' }
const SECOND_TOKEN = 'the-token-of-the-night-shift'

const playground = new Playground()
let server: Stampede
beforeAll(async () => {
  server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { ADMIN_TOKENS: `night:${SECOND_TOKEN}` },
  })
})
afterAll(() => playground.undo())

/** Somebody with an address of their own, out of 127/8. */
async function at(from: string) {
  const socket = await RawSocket.open(playground, server.url(), { from })
  const ask = async (method: string, path: string, headers: Record<string, string>, body = '') => {
    const answer = await socket.ask(method, path, headers, body)
    if (answer === undefined) throw new Error('the server hung up')
    return { ...answer, body: answer.text.startsWith('{') ? JSON.parse(answer.text) : {} }
  }
  return {
    ask,
    bearer: (token: string, path = '/api/admin/sales') => ask('GET', path, { authorization: `Bearer ${token}` }),
    signIn: (token: string) => ask('POST', '/ops/session', PAGE, JSON.stringify({ token })),
  }
}

test('tokens can not be guessed without limit, as bearers or on the page; an operator who works there goes on', async () => {
  const begunMs = systemClock.elapsed()
  const thief = await at('127.0.0.21')
  const neighbour = await at('127.0.0.21')
  expect((await neighbour.bearer(ADMIN_TOKEN)).status).toBe(200)
  const signedIn = await neighbour.signIn(ADMIN_TOKEN)
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''

  // One way of guessing after the other: they share one limit.
  const told: number[] = []
  for (let i = 0; i < 30; i++) {
    const guess = `${ADMIN_TOKEN}-${i}`
    const { status, headers, body } =
      i % 3 === 0
        ? await thief.signIn(guess)
        : await thief.bearer(guess, i % 3 === 1 ? '/metrics' : '/api/admin/orders/1')
    told.push(status)
    if (status !== 429) continue
    expect(body.code).toBe('rate_limited')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  const wrong = told.filter(status => status === 401).length
  expect(told.filter(status => status === 429).length).toBe(30 - wrong)
  expect(wrong).toBeGreaterThan(0)
  expect(wrong).toBeLessThanOrEqual(TRIES_MAX)

  // No guess is looked at any more: a right one is told nothing else.
  expect((await thief.bearer(SECOND_TOKEN)).status).toBe(429)
  expect((await thief.signIn(SECOND_TOKEN)).status).toBe(429)
  expect((await neighbour.bearer(ADMIN_TOKEN)).status, 'the token that is used there').toBe(200)
  expect((await neighbour.signIn(ADMIN_TOKEN)).status).toBe(200)
  expect((await neighbour.ask('GET', '/api/admin/sales', { cookie })).status, 'a session').toBe(200)
  expect((await (await at('127.0.0.22')).bearer(SECOND_TOKEN)).status, 'another address').toBe(200)

  // Counted, logged without the token, and shown.
  const metrics = (await neighbour.bearer(ADMIN_TOKEN, '/metrics')).text
  expect(Number(/stampede_operator_tokens_total\{outcome="wrong"\} (\d+)/.exec(metrics)?.[1])).toBe(wrong)
  expect(Number(/stampede_operator_tokens_total\{outcome="limited"\} (\d+)/.exec(metrics)?.[1])).toBe(32 - wrong)
  const lines = server.output().split('\n')
  const refusals = lines.filter(line => line.includes('operator token refused') && line.includes('127.0.0.21'))
  // One in ten seconds, however long all of this took.
  expect(refusals.length).toBeWithin(1, 2 + (systemClock.elapsed() - begunMs) / 10_000)
  expect(server.output()).not.toContain(ADMIN_TOKEN)
  const trouble = await until('the trouble is shown', async () => {
    const { body } = await neighbour.bearer(ADMIN_TOKEN, '/api/admin/trouble')
    return body.trouble.find(({ code }: { code: string }) => code === 'token_guessing')
  })
  expect(trouble).toMatchObject({ count: 32 - wrong, words: expect.stringContaining('127.0.0.21') })
})

test('who signed in, from where and as what is in the log; who could not is not', async () => {
  const here = await at('127.0.0.31')
  expect((await here.signIn('surely-not-the-token')).status).toBe(401)
  expect((await here.signIn(SECOND_TOKEN)).status).toBe(200)
  const { body } = await here.bearer(ADMIN_TOKEN, '/api/admin/log?limit=1000')
  const signIns = body.log.filter(({ details }: { details: { address?: string } }) => details?.address === '127.0.0.31')
  expect(signIns).toMatchObject([{ by: 'night', action: 'operator.sign_in', details: { role: 'admin' } }])
})

test('an operator signs in also while the ledger does not answer, to see what is wrong', async () => {
  const here = await at('127.0.0.41')
  const main = postgresPid(server.dataDir)
  if (main === undefined) throw new Error('there is no PostgreSQL')
  // The parent first: then no child is born that would not be stopped. A child may end meanwhile.
  process.kill(main, 'SIGSTOP')
  const children = childrenOf(main)
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT') => {
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  try {
    for (const pid of children) signal(pid, 'SIGSTOP')
    expect((await here.signIn(ADMIN_TOKEN)).status).toBe(200)
    expect((await here.bearer(ADMIN_TOKEN, '/api/admin/trouble')).status).toBe(200)
  } finally {
    for (const pid of [main, ...children]) signal(pid, 'SIGCONT')
  }
  expect(server.output()).toContain('sign-in not written to the log')
})
