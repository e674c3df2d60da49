/**
 * Posts a webhook to an address that was checked. The name is resolved once, every address it has is checked, and the connection goes to one of
 * these addresses, never to the name: a name server that answers differently a moment later changes nothing. `Host`, TLS server name and the
 * certificate's check are those of the name.
 *
 * Redirects are not followed, proxies of the environment are not used, connections are not shared between tries. The whole try, name
 * server included, ends in time; of the answer's body only the beginning is read. The status decides; a body that never ends changes nothing.
 */

import { lookup } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import type { AddressRules } from '../address-rules.ts'
import { addressRefusal, hostOf, targetRefusal } from '../target.ts'
import { ANSWER_BYTES_MAX, type PostWebhook, type TryProblem, type TryResult } from '../webhook.ts'

interface GuardedPostOptions {
  readonly clock: Clock
  readonly rules: AddressRules
  /** For one try, from the name to the answer. */
  readonly timeoutMs: number
  /** Every address of a name; rejects when it has none. */
  readonly resolve?: (name: string) => Promise<readonly string[]>
  /** A certificate authority to trust beside those of the system. */
  readonly ca?: string
}

/** A name with several addresses: so many are tried when there is no connection. */
const ADDRESSES_MAX = 3

type Outcome = Omit<TryResult, 'tookMs'>
/** Undefined: there was no connection, and the request was not sent. */
type Reached = Outcome | undefined

export function createGuardedPost(options: GuardedPostOptions): PostWebhook {
  const { clock, rules, timeoutMs, resolve = resolveName } = options

  async function post(text: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal) {
    const refusal = targetRefusal(text, rules)
    if (refusal !== undefined) return failed('address', `The address ${refusal}.`)
    const url = new URL(text)
    const host = hostOf(url)
    const addresses = isIP(host) === 0 ? await untilAborted(resolve(host), signal) : [host]
    if (addresses === undefined) return signal.aborted ? timedOut() : failed('name', 'The name has no address.')
    const why = addressRefusal(url, addresses, rules)
    if (why !== undefined) return failed('address', `The name ${why}.`)
    const tried = addresses.slice(0, ADDRESSES_MAX)
    for (const [at, address] of tried.entries()) {
      // An address that does not answer at all must leave time for the next one.
      const connectMs = at === tried.length - 1 ? timeoutMs : timeoutMs / (ADDRESSES_MAX + 1)
      const reached = await attempt({ ...options, url, address, headers, body, signal, connectMs })
      if (reached !== undefined) return reached
    }
    return signal.aborted ? timedOut() : failed('connection', 'No connection.')
  }

  return async (url, headers, body, stop) => {
    const fromMs = clock.elapsed()
    const outcome = await withDeadline(clock, timeoutMs, deadline =>
      post(url, headers, body, stop === undefined ? deadline : AbortSignal.any([deadline, stop])),
    )
    return { ...outcome, tookMs: Math.round(clock.elapsed() - fromMs) }
  }
}

interface Attempt extends Pick<GuardedPostOptions, 'clock' | 'ca'> {
  readonly url: URL
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  readonly connectMs: number
}

function attempt({ clock, ca, url, address, headers, body, signal, connectMs }: Attempt): Promise<Reached> {
  const { promise, resolve: settle } = Promise.withResolvers<Reached>()
  const secure = url.protocol === 'https:'
  const name = hostOf(url)
  let connected = false
  let atDeadline = timedOut
  const request = (secure ? https : http).request({
    host: address,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method: 'POST',
    // A connection of its own: one that is kept may lead to an address that was allowed earlier.
    agent: false,
    headers: { ...headers, host: url.host, 'content-length': String(Buffer.byteLength(body)) },
    ...(secure && { servername: isIP(name) === 0 ? name : '', ...(ca !== undefined && { ca }) }),
  })
  const end = new AbortController()
  const finish = (reached: Reached) => {
    end.abort()
    request.destroy()
    settle(reached)
  }
  const abort = () => finish(atDeadline())
  signal.addEventListener('abort', abort, { once: true, signal: end.signal })
  if (signal.aborted) abort()
  void clock.sleep(connectMs, end.signal).then(() => {
    if (!connected && !end.signal.aborted) finish(undefined)
  })
  request.on('socket', socket => socket.once('connect', () => (connected = true)))
  request.on('error', error => finish(connected ? failed('connection', describe(error)) : undefined))
  request.on('response', response => {
    atDeadline = readAnswer(response, finish)
  })
  // Neither is an answer that can be waited for.
  request.on('upgrade', () => finish(failed('answer', 'The answer wants another protocol.')))
  request.on('close', () => finish(failed('connection', 'The connection was closed without an answer.')))
  request.end(body)
  return promise
}

/** Ends with the body, or when enough of it was read. Returns what it comes to at the deadline: the status counts, whatever is missing. */
function readAnswer(response: http.IncomingMessage, finish: (outcome: Outcome) => void): () => Outcome {
  const chunks: Buffer[] = []
  let length = 0
  const outcome = () => outcomeOf(response.statusCode ?? 0, Buffer.concat(chunks))
  const done = () => finish(outcome())
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, Math.max(0, ANSWER_BYTES_MAX - length)))
    length += chunk.length
    if (length >= ANSWER_BYTES_MAX) done()
  })
  for (const event of ['end', 'error', 'close']) response.on(event, done)
  return outcome
}

function outcomeOf(status: number, body: Buffer): Outcome {
  const answer = new TextDecoder().decode(body).replaceAll('\0', '\ufffd')
  const plain = { status, answer, detail: undefined, problem: undefined }
  if (status >= 200 && status < 300) return { ...plain, kind: 'delivered' }
  if (status === 410) return { ...plain, kind: 'gone', problem: 'answer' }
  if (status >= 300 && status < 400)
    return { ...plain, kind: 'failed', problem: 'redirect', detail: 'Redirects are not followed.' }
  return { ...plain, kind: 'failed', problem: 'answer' }
}

function failed(problem: TryProblem, detail: string): Outcome {
  return { kind: 'failed', problem, detail, status: undefined, answer: '' }
}

const timedOut = () => failed('timeout', 'No answer in time.')

function describe(error: Error & { code?: string }): string {
  return error.code === undefined ? error.message : `${error.code}: ${error.message}`
}

async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

/** Undefined: it failed, answered nothing, or took too long. A name server's late answer is ignored. */
async function untilAborted(
  work: Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const aborted = Promise.withResolvers<undefined>()
  const abort = () => aborted.resolve(undefined)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    const found = await Promise.race([work.catch(() => undefined), aborted.promise])
    return found?.length === 0 ? undefined : found
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
