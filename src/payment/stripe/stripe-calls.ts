/**
 * Calls to Stripe's API, through Stripe's own client with `fetch`. Every call ends when its signal does, whatever the connection does. The
 * client repeats a call twice at most (a closed connection, a 409 for a key in use, a 5xx), with the same idempotency key.
 *
 * What Stripe says becomes a Fault in one place. A fault carries Stripe's words and its error code, never a key, a header or anything of a
 * card: the client's own errors are not passed on as causes. Redirects are refused, and an answer has a largest size.
 */

import Stripe from 'stripe'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'

interface CallOptions {
  /** The account, as in PAYMENT_PROVIDERS: named in faults. */
  readonly name: string
  readonly secretKey: string
  readonly apiBase: string
  readonly clock: Clock
}

export type StripeApi = InstanceType<typeof Stripe>
type StripeRefusal = InstanceType<typeof Stripe.errors.StripeError>
type Fetch = (input: string, init: RequestInit) => Promise<Response>

const SPENT = Symbol('the idempotency key is spent')
const RETRIES_MAX = 2
/** A hundred sessions are about 400 KB. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
/** A bound of the client's own; the callers' signals are shorter. */
const CALL_MS_MAX = 30_000
const MESSAGE_LENGTH_MAX = 300

export class StripeCalls {
  readonly #options: CallOptions
  readonly #address: { readonly protocol: 'http' | 'https'; readonly host: string; readonly port: string }
  #aheadMs: number | undefined

  constructor(options: CallOptions) {
    this.#options = options
    const { protocol, hostname, port } = new URL(options.apiBase)
    this.#address = { protocol: protocol === 'http:' ? 'http' : 'https', host: hostname, port }
  }

  /** By how much Stripe's clock is ahead of ours, by the Date of its last answer: exact to about a second. Undefined before the first. */
  get aheadMs(): number | undefined {
    return this.#aheadMs
  }

  /** @param expected what a refusal is worth that the caller knows how to read; undefined: it is a fault */
  async call<T>(
    signal: AbortSignal,
    ask: (stripe: StripeApi) => Promise<T>,
    expected: (refusal: StripeRefusal) => T | undefined = () => undefined,
  ): Promise<T> {
    try {
      return await this.inTime(signal, () => ask(this.#client(signal)))
    } catch (error) {
      if (!(error instanceof Stripe.errors.StripeError)) throw error
      const value = expected(error)
      if (value !== undefined) return value
      throw this.#faultOf(error)
    }
  }

  /** The work's value, or a fault as soon as the signal ends. */
  async inTime<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) throw this.#unreachable('did not answer in time')
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(this.#unreachable('did not answer in time'))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([work(), aborted])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /**
   * Makes something, once by its key. Stripe keeps a 500 under the key as it keeps any answer, for 24 hours: such a key is spent, and what
   * came of it unknown. Then it is
   * made under a second key, unless `again` finds it there.
   */
  async create<T>(
    signal: AbortSignal,
    key: string,
    ask: (stripe: StripeApi, options: { readonly idempotencyKey: string }) => Promise<T>,
    expected: (refusal: StripeRefusal) => T | undefined = () => undefined,
    again: () => Promise<T | undefined> = async () => undefined,
  ): Promise<T> {
    const isSpent = ({ statusCode = 0, headers }: StripeRefusal) =>
      statusCode >= 500 && headers?.['idempotent-replayed'] === 'true'
    const made = await this.call<T | typeof SPENT>(
      signal,
      stripe => ask(stripe, { idempotencyKey: key }),
      refusal => expected(refusal) ?? (isSpent(refusal) ? SPENT : undefined),
    )
    if (made !== SPENT) return made
    const found = await again()
    return found ?? this.call(signal, stripe => ask(stripe, { idempotencyKey: `${key}-again` }), expected)
  }

  refused(why: string): Fault {
    return new Fault('payment_refused', `${this.#options.name}: ${why}`)
  }

  /** One for each call, because a call's signal belongs to its `fetch`; it costs a tenth of a millisecond. */
  #client(signal: AbortSignal): StripeApi {
    return new Stripe(this.#options.secretKey, {
      ...this.#address,
      maxNetworkRetries: RETRIES_MAX,
      timeout: CALL_MS_MAX,
      telemetry: false,
      appInfo: { name: 'Stampede' },
      httpClient: Stripe.createFetchHttpClient(this.#fetchUntil(signal) as typeof fetch),
    })
  }

  #fetchUntil(signal: AbortSignal): Fetch {
    return async (input, init) => {
      const own = init.signal ? [init.signal] : []
      const answer = await fetch(input, { ...init, redirect: 'error', signal: AbortSignal.any([signal, ...own]) })
      const atMs = Date.parse(answer.headers.get('date') ?? '')
      if (Number.isFinite(atMs)) this.#aheadMs = atMs - this.#options.clock.now()
      const { status, headers } = answer
      return new Response(await readBounded(answer), { status, headers })
    }
  }

  #faultOf(error: StripeRefusal): Fault {
    const { errors } = Stripe
    if (error instanceof errors.StripeAuthenticationError)
      return this.refused('Stripe refused the secret key: it is wrong, expired or revoked')
    if (error instanceof errors.StripePermissionError)
      return this.refused(`the secret key lacks a permission: ${wordsOf(error)}`)
    if (error instanceof errors.StripeIdempotencyError)
      return this.refused('this payment was started before with other parameters')
    if (error instanceof errors.StripeInvalidRequestError || error instanceof errors.StripeCardError)
      return this.refused(`Stripe refused the call: ${wordsOf(error)}`)
    if (error instanceof errors.StripeRateLimitError) return this.#unreachable('answered that there are too many calls')
    return this.#unreachable(
      error instanceof errors.StripeConnectionError
        ? 'could not be reached'
        : `failed (${error.statusCode ?? 'no JSON'})`,
    )
  }

  #unreachable(how: string): Fault {
    const message = `${this.#options.name}: Stripe ${how}`
    return new Fault('payment_unreachable', message, { retryable: true, outcomeUnknown: true })
  }
}

function wordsOf({ code, param, message }: StripeRefusal): string {
  const about = [code, param].filter(Boolean).join(', ')
  return `${message.slice(0, MESSAGE_LENGTH_MAX)}${about && ` (${about})`}`
}

async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength
    if (size > ANSWER_BYTES_MAX) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}
