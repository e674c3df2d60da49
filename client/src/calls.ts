/** One request, one answer, or a StampedeFailure. Never repeats anything by itself, except once with a fresh token. */

import { StampedeFailure } from './failure.ts'
import type { ProblemCode } from './wire.ts'

export interface Connection {
  /** Where Stampede is, as `https://sale.example`. Left out: where the page itself comes from. */
  readonly url?: string
  /** The buyer's token, or where to get one; asked again when a token was refused. Left out: the browser's cookie says who it is. */
  readonly token?: string | (() => string | Promise<string>)
  /** For an answer, in milliseconds; 10 seconds by default. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

interface Ask {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  /** A ticket, in place of the buyer's token. */
  readonly bearer?: string
  readonly signal?: AbortSignal | undefined
}

const ANSWER_MS_MAX = 10_000

export class Calls {
  readonly base: string
  readonly #token: Connection['token']
  readonly #timeoutMs: number
  readonly #fetch: typeof fetch
  #held: string | undefined

  constructor({ url = '', token, timeoutMs = ANSWER_MS_MAX, fetch: send = globalThis.fetch }: Connection) {
    this.base = url.replace(/\/+$/, '')
    this.#token = token
    this.#timeoutMs = timeoutMs
    this.#fetch = send.bind(globalThis)
  }

  async send<T>(path: string, ask: Ask = {}): Promise<T> {
    const token = await this.buyerToken()
    if (ask.bearer !== undefined) return this.#sendOnce<T>(path, ask, ask.bearer, token)
    try {
      return await this.#sendOnce<T>(path, ask, token, token)
    } catch (error) {
      const expired = error instanceof StampedeFailure && error.code === 'unauthenticated'
      if (!expired || typeof this.#token !== 'function') throw error
      this.#held = undefined
      const fresh = await this.buyerToken()
      return this.#sendOnce<T>(path, ask, fresh, fresh)
    }
  }

  /** Undefined: the cookie says who it is. */
  async buyerToken(): Promise<string | undefined> {
    this.#held ??= typeof this.#token === 'function' ? await this.#token() : this.#token
    return this.#held
  }

  /** From now on this token counts. */
  hold(token: string): void {
    this.#held = token
  }

  /** @param signIn the buyer's token, sent beside a ticket: a server may bind tickets to the sign-in that fetched them */
  async #sendOnce<T>(
    path: string,
    { method = 'GET', body, signal }: Ask,
    bearer: string | undefined,
    signIn: string | undefined,
  ): Promise<T> {
    const late = AbortSignal.timeout(this.#timeoutMs)
    let response: Response
    let text: string
    try {
      response = await this.#fetch(this.base + path, {
        method,
        // A token says who it is: then no cookie is needed, nor sent to another origin.
        credentials: signIn === undefined ? 'include' : 'same-origin',
        headers: {
          accept: 'application/json',
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(signIn !== undefined && signIn !== bearer && { 'stampede-sign-in': signIn }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: signal === undefined ? late : AbortSignal.any([signal, late]),
      })
      text = await response.text()
    } catch (cause) {
      if (signal?.aborted) throw new StampedeFailure('aborted', 'the caller ended the call', { cause })
      throw new StampedeFailure('no_answer', `no answer from ${this.base || 'the server'}`, { cause })
    }
    const answer = parsed(text)
    if (response.ok && answer !== undefined) return answer as T
    throw failureOf(response, answer)
  }
}

function parsed(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}

function failureOf(response: Response, answer: unknown): StampedeFailure {
  const { status } = response
  const { code, detail, title, type, status: _, ...more } = (answer ?? {}) as Record<string, unknown>
  if (typeof code !== 'string') {
    // A proxy speaks for servers that are down.
    const away = status >= 500 ? 'no_answer' : 'not_stampede'
    return new StampedeFailure(away, `${status}, and not from a Stampede server`, { status })
  }
  const retryAfterMs = Number(response.headers.get('retry-after') ?? Number.NaN) * 1_000
  return new StampedeFailure(code as ProblemCode, String(detail ?? title ?? code), {
    status,
    more,
    retryAfterMs: Number.isFinite(retryAfterMs) ? Math.max(0, retryAfterMs) : undefined,
  })
}
