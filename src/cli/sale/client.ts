/**
 * The command line's connection to a running server: one request, one answer, and one clear line for every failure. The operator's token
 * comes from `--token`, from the environment, or from the data folder when the server is on this machine. Never retries by itself.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ConfigError, readCliEnvironment } from '../../app/config/config.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'

export interface ServerOptions {
  readonly server?: string
  readonly token?: string
  readonly json?: boolean
}

interface Ask {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  /** Instead of a body in JSON: sent as it is. */
  readonly file?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export function saleAt(id: string): string {
  return `/api/admin/sales/${encodeURIComponent(id)}`
}

const ANSWER_MS_MAX = 60_000
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** The options that every command against a server takes. */
export function withServer(command: Command): Command {
  return command
    .option('--server <url>', 'address of the server (default: STAMPEDE_SERVER, or HOST and PORT)')
    .option('--token <token>', 'operator token (default: STAMPEDE_TOKEN, ADMIN_TOKEN, or the one in DATA_DIR)')
    .option('--json', 'print JSON')
}

export class Client {
  readonly #base: URL
  readonly #token: string | undefined

  constructor(options: ServerOptions) {
    const environment = readCliEnvironment()
    this.#base = parseServer(options.server ?? environment.server)
    this.#token = options.token ?? environment.token ?? keptToken(this.#base, environment.dataDir)
  }

  /** The JSON answer. Refusals and silence are Faults. */
  async ask<T>(path: string, ask: Ask = {}): Promise<T> {
    const text = await (await this.#send(path, ask)).text()
    if (text === '') return undefined as T
    try {
      return JSON.parse(text) as T
    } catch (cause) {
      throw notStampede(this.#base, cause)
    }
  }

  /** The answer's text in chunks, as it comes. */
  async *stream(path: string, ask: Ask = {}): AsyncGenerator<string> {
    const response = await this.#send(path, ask)
    // A mark at the beginning is part of the answer: spreadsheets need it.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    for await (const chunk of response.body ?? []) yield decoder.decode(chunk as Uint8Array, { stream: true })
    yield decoder.decode()
  }

  async #send(path: string, { method = 'GET', body, file, headers }: Ask): Promise<Response> {
    const [base, token] = [this.#base, this.#token]
    const answered = new AbortController()
    const hangUp = new AbortController()
    void systemClock.sleep(ANSWER_MS_MAX, answered.signal).then(() => answered.signal.aborted || hangUp.abort())
    try {
      const response = await fetch(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`, {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(file !== undefined && { body: new Uint8Array(file) }),
        signal: hangUp.signal,
      })
      if (!response.ok) throw await refusal(response, base, token)
      return response
    } catch (error) {
      if (error instanceof Fault) throw error
      throw new Fault(
        'server_away',
        `no server answers on ${base.origin}: start it with "stampede serve", or name another with --server`,
        { retryable: true, outcomeUnknown: true, cause: error },
      )
    } finally {
      // The limit is for the head of the answer: a body that streams may take longer.
      answered.abort()
    }
  }
}

async function refusal(response: Response, base: URL, token: string | undefined): Promise<Fault> {
  let problem: { code?: unknown; detail?: unknown }
  try {
    problem = JSON.parse(await response.text())
  } catch (cause) {
    return notStampede(base, cause)
  }
  if (typeof problem.code !== 'string') return notStampede(base, undefined)
  if (response.status === 401)
    return new Fault(
      'token_refused',
      token === undefined
        ? `${base.origin} needs an operator token: pass --token, or set STAMPEDE_TOKEN`
        : `${base.origin} does not accept this operator token: pass the right one with --token, or set STAMPEDE_TOKEN`,
    )
  const detail = String(problem.detail ?? problem.code).replaceAll(/\s+/g, ' ')
  return new Fault(problem.code, `${detail} (${problem.code})`, { retryable: response.status === 503 })
}

function notStampede(base: URL, cause: unknown): Fault {
  return new Fault('not_stampede', `what answers on ${base.origin} is not a Stampede server: check --server`, { cause })
}

export function parseServer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new ConfigError(`"${text}" is not the address of a server; it looks like http://127.0.0.1:8080`)
  return url
}

/** Only for a server on this machine: our secret is not sent to others. */
export function keptToken(base: URL, dataDir: string): string | undefined {
  if (!LOOPBACK.test(base.hostname)) return undefined
  try {
    return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
