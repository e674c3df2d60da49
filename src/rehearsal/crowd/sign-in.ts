/**
 * Before the opening everybody signs in and gets a ticket, over HTTP, as buyers do. Where the shop's secret is known the buyers' tokens
 * are signed here, as the shop would; otherwise they are guests. Being told to come later is no refusal: they come later, as often as they
 * are told to, as long as anybody gets anything.
 */

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { codeOf, readJson } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Job, Pool } from '../client/pool.ts'
import type { Requests } from '../client/requests.ts'

export interface Credentials {
  readonly tokens: readonly string[]
  readonly tickets: readonly string[]
}

const TOKEN_S = 4 * 3600
const LATER_MS = 1_050
/** So long nobody was given anything: then nobody will be. */
const STUCK_MS_MAX = 60_000
/** Of the server, or of a proxy that could not reach it in the crowd. Nothing is judged yet, and asking twice changes nothing. */
const SOON: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** A JWT under HS256, as any shop's server would make it. */
export function signBuyers(names: readonly string[], secret: string, nowMs: number): readonly string[] {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'HS256', typ: 'JWT' })
  const nowS = Math.floor(nowMs / 1000)
  return names.map(sub => {
    const signed = `${header}.${encode({ sub, iat: nowS, exp: nowS + TOKEN_S })}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  })
}

export async function signInGuests(
  names: readonly string[],
  pool: Pick<Pool, 'send' | 'gone'>,
  requests: Requests,
  clock: Clock,
  stop: AbortSignal,
  progress: (done: number) => void,
): Promise<readonly string[]> {
  const refused = new Map([
    [401, 'guests are not let in there: pass the secret that the shop signs buyer tokens with, as --buyer-secret'],
  ])
  const bytes = (i: number) => requests.session(names[i]!)
  return everyone({ count: names.length, bytes, field: 'token', refused, pool, clock, stop, progress })
}

export async function fetchTickets(
  tokens: readonly string[],
  pool: Pick<Pool, 'send' | 'gone'>,
  requests: Requests,
  clock: Clock,
  stop: AbortSignal,
  progress: (done: number) => void,
): Promise<readonly string[]> {
  const refused = new Map([[401, 'the server does not accept the buyers’ tokens: is --buyer-secret the right one?']])
  const bytes = (i: number) => requests.ticket(tokens[i]!)
  return everyone({ count: tokens.length, bytes, field: 'ticket', refused, pool, clock, stop, progress })
}

interface Everyone {
  readonly count: number
  readonly bytes: (i: number) => Buffer
  /** Of the answer, what is wanted. */
  readonly field: string
  readonly refused: ReadonlyMap<number, string>
  readonly pool: Pick<Pool, 'send' | 'gone'>
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly progress: (done: number) => void
}

/** One request for each, as fast as the connections carry them, and what each was given. */
function everyone(all: Everyone): Promise<readonly string[]> {
  const { count, pool, clock, stop, progress } = all
  const given = new Array<string>(count)
  const outcome = Promise.withResolvers<readonly string[]>()
  let done = 0
  let givenAtMs = clock.elapsed()
  let settled = false
  const fail = (code: string, message: string) => outcome.reject(new Fault(code, message))
  const interrupted = () => fail('interrupted', 'interrupted while the buyers were getting their tickets')
  if (stop.aborted) interrupted()
  stop.addEventListener('abort', interrupted, { once: true })

  const again = async (i: number) => {
    if (settled) return
    if (pool.gone || clock.elapsed() - givenAtMs > STUCK_MS_MAX)
      return fail('server_away', 'the server went away while the buyers were getting their tickets')
    await clock.sleep(LATER_MS)
    if (!settled) pool.send(job(i))
  }
  const job = (i: number): Job => ({
    bytes: all.bytes(i),
    sentMs: 0,
    answered(answer: Answer) {
      const value = answer.status < 300 ? readJson(answer)?.[all.field] : undefined
      if (typeof value === 'string') {
        given[i] = value
        done += 1
        givenAtMs = clock.elapsed()
        progress(done)
        if (done === count) outcome.resolve(given)
      } else if (SOON.has(answer.status)) void again(i)
      else
        fail(
          'refused',
          all.refused.get(answer.status) ?? `the server refused a ${all.field} with ${answer.status} ${codeOf(answer)}`,
        )
    },
    lost: () => void again(i),
  })
  for (let i = 0; i < count; i++) pool.send(job(i))
  return outcome.promise.finally(() => {
    settled = true
    stop.removeEventListener('abort', interrupted)
  })
}
