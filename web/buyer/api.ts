/**
 * Calls to the server. Never throws for what the network or the server does: an answer, a refusal with its code, or `lost`, which says
 * nothing about whether the server has done it.
 */

export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  /** Stable, as API.md lists them; `unknown` when something else than our server has answered. */
  readonly code: string
  readonly retryAfterMs: number | undefined
  readonly body: Readonly<Record<string, unknown>>
}

export type Reply<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly body: T }
  | Refused
  | { readonly kind: 'lost' }

interface CallOptions {
  readonly bearer?: string
  readonly body?: unknown
}

const ANSWER_MS_MAX = 10_000

export async function call<T>(method: 'GET' | 'POST', path: string, options: CallOptions = {}): Promise<Reply<T>> {
  let response: Response
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
    return { kind: 'lost' }
  }
  if (response.ok) return { kind: 'ok', status: response.status, body: body as T }
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const retryAfterS = Number(response.headers.get('retry-after') ?? Number.NaN)
  return {
    kind: 'refused',
    status: response.status,
    code: typeof said.code === 'string' ? said.code : 'unknown',
    retryAfterMs: Number.isFinite(retryAfterS) ? Math.max(0, retryAfterS * 1000) : undefined,
    body: said,
  }
}

/** A read that the server could not answer is as good as none: a proxy may have spoken in place of servers that are all gone. */
export async function getJson<T>(path: string): Promise<Reply<T>> {
  const reply = await call<T>('GET', path)
  return reply.kind === 'refused' && reply.status >= 500 ? { kind: 'lost' } : reply
}
