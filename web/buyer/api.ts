/**
 * Calls to the server. Never throws for a failure of the network or the server: returns an answer, a refusal with its code, or `lost`, when
 * it is unknown whether the server has done it.
 */

export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  /** Stable, as API.md lists them; `unknown` when a proxy has answered instead of the server. */
  readonly code: string
  readonly retryAfterMs: number | undefined
  readonly dateMs: number
  readonly body: Readonly<Record<string, unknown>>
}

export type Reply<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly body: T }
  | Refused
  /** `dateMs`: what the clock of the proxy says that answered instead of the server, to the second. */
  | { readonly kind: 'lost'; readonly dateMs?: number }

interface CallOptions {
  readonly bearer?: string
  readonly body?: unknown
}

const ANSWER_MS_MAX = 10_000

export async function call<T>(
  method: 'DELETE' | 'GET' | 'PATCH' | 'POST',
  path: string,
  options: CallOptions = {},
): Promise<Reply<T>> {
  let response: Response | undefined
  let body: unknown
  try {
    response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...(options.bearer !== undefined && { authorization: `Bearer ${options.bearer}` }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await response.text()
    body = text === '' ? {} : JSON.parse(text)
  } catch {
    return { kind: 'lost', dateMs: dateOf(response) }
  }
  if (response.ok) return { kind: 'ok', status: response.status, body: body as T }
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN)
  return {
    kind: 'refused',
    status: response.status,
    code: typeof problem.code === 'string' ? problem.code : 'unknown',
    retryAfterMs: Number.isFinite(retryAfterS) ? Math.max(0, retryAfterS * 1000) : undefined,
    dateMs: dateOf(response),
    body: problem,
  }
}

/** A read with a 5xx answer counts as lost: a proxy may have answered while all servers were down. */
export async function getJson<T>(path: string): Promise<Reply<T>> {
  const reply = await call<T>('GET', path)
  return reply.kind === 'refused' && reply.status >= 500 ? { kind: 'lost', dateMs: reply.dateMs } : reply
}

/** When it was sent; NaN without an answer. An answer from a cache says how old it is. */
function dateOf(response: Response | undefined): number {
  const header = (name: string) => response?.headers.get(name) ?? ''
  return Date.parse(header('date')) + Number(header('age')) * 1000
}
