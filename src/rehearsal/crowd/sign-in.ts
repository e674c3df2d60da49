/**
 * Before the opening every buyer signs in and gets a ticket, over HTTP. Where the shop's secret is known the buyers' tokens are signed
 * here, as the shop would; otherwise the buyers are guests. "Later" is not a refusal: a buyer who is told to come later asks again, for as
 * long as any buyer is given anything.
 */

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { codeOf, readJson } from '../client/answers.ts'
import type { Job, Pool } from '../client/pool.ts'
import type { Requests } from '../client/requests.ts'

export interface Credentials {
  /** What the server calls the buyers: it may give guests a prefix. */
  readonly names: readonly string[]
  readonly tokens: readonly string[]
  /** None where the sale has a waiting line: they are given to those who are let in. */
  readonly tickets: readonly string[]
}

interface Asking {
  readonly pool: Pick<Pool, 'send' | 'gone'>
  readonly requests: Requests
  readonly clock: Clock
  readonly stop: AbortSignal
}

const TOKEN_S = 4 * 3600
const LATER_MS = 1_050
/** When no buyer was given anything for so long, the server is considered gone. */
const STUCK_MS_MAX = 60_000
/** From the server, or from a proxy that could not reach it. Asking again has no second effect. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504])

const UNAUTHORIZED = {
  token: 'the server does not accept guests: pass the secret that the shop signs buyer tokens with, as --buyer-secret',
  ticket: 'the server does not accept the buyers’ tokens: is --buyer-secret the right one?',
} as const

/** A token and, unless they come with a waiting line, a ticket for each name. `shop`: its secret, and the server's time; undefined: the buyers are guests. */
export async function signIn(
  asking: Asking,
  names: readonly string[],
  shop: { readonly secret: string; readonly now: () => number } | undefined,
  progress: (phase: 'signing in' | 'tickets', done: number) => void = () => {},
  hasLine = false,
): Promise<Credentials> {
  const { session, ticket } = asking.requests
  const given = names.slice()
  const tokens =
    shop === undefined
      ? await fetchAll(
          asking,
          'token',
          names.map(session),
          done => progress('signing in', done),
          (i, { buyer }) => {
            if (typeof buyer === 'string') given[i] = buyer
          },
        )
      : signBuyers(names, shop.secret, shop.now())
  if (hasLine) return { names: given, tokens, tickets: [] }
  const tickets = await fetchAll(asking, 'ticket', tokens.map(ticket), done => progress('tickets', done))
  return { names: given, tokens, tickets }
}

/** One JWT (HS256) for each buyer, as the shop's server would make it. */
function signBuyers(names: readonly string[], secret: string, nowMs: number): readonly string[] {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'HS256', typ: 'JWT' })
  const nowS = Math.floor(nowMs / 1000)
  return names.map(sub => {
    const signed = `${header}.${encode({ sub, iat: nowS, exp: nowS + TOKEN_S })}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  })
}

/** Sends all requests, as fast as the connections allow, and collects this field of each answer. */
function fetchAll(
  { pool, clock, stop }: Asking,
  field: 'token' | 'ticket',
  requests: readonly Buffer[],
  progress: (done: number) => void,
  read: (i: number, body: Readonly<Record<string, unknown>>) => void = () => {},
): Promise<readonly string[]> {
  const found = new Array<string>(requests.length)
  const outcome = Promise.withResolvers<readonly string[]>()
  let done = 0
  let lastFoundMs = clock.elapsed()
  let settled = false
  const fail = (code: string, message: string) => outcome.reject(new Fault(code, message))
  const interrupted = () => fail('interrupted', 'interrupted while the buyers were getting their tickets')
  if (stop.aborted) interrupted()
  stop.addEventListener('abort', interrupted, { once: true })

  const retry = async (i: number) => {
    if (settled) return
    if (pool.gone || clock.elapsed() - lastFoundMs > STUCK_MS_MAX)
      return fail('server_away', 'the server went away while the buyers were getting their tickets')
    await clock.sleep(LATER_MS)
    if (!settled) pool.send(job(i))
  }
  const job = (i: number): Job => ({
    bytes: requests[i]!,
    sentMs: 0,
    answered(answer) {
      const { status } = answer
      const body = status < 300 ? readJson(answer) : undefined
      const value = body?.[field]
      if (body !== undefined && typeof value === 'string') {
        read(i, body)
        found[i] = value
        lastFoundMs = clock.elapsed()
        progress(++done)
        if (done === requests.length) outcome.resolve(found)
      } else if (RETRIED.has(status)) void retry(i)
      else if (status === 401) fail('refused', UNAUTHORIZED[field])
      else fail('refused', `the server refused a ${field} with ${status} ${codeOf(answer)}`)
    },
    lost: () => void retry(i),
  })
  for (let i = 0; i < requests.length; i++) pool.send(job(i))
  return outcome.promise.finally(() => {
    settled = true
    stop.removeEventListener('abort', interrupted)
  })
}
