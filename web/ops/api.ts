/**
 * Calls to the server, under the operator's session. Never throws for a failure of the network or the server: returns an answer, a refusal
 * with the server's text, or `lost`, when it is unknown whether the server has done it.
 */

import { forget, store } from './store.ts'

interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly code: string
  /** The server's text. */
  readonly detail: string
  /** The wrong field of the request, as a path: `items.0.name`. */
  readonly field: string | undefined
}

export type Reply<T> = { readonly kind: 'ok'; readonly body: T } | Refused | { readonly kind: 'lost' }
export type Unanswered = Exclude<Reply<never>, { readonly kind: 'ok' }>

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

interface CallOptions {
  readonly body?: unknown
  /** Instead of a body in JSON: sent as it is. */
  readonly file?: File
  /** Idempotency key: the same key never does it twice. */
  readonly key?: string
  readonly accept?: string
}

const ANSWER_MS_MAX = 15_000
/** 2 MB over a slow line. */
const UPLOAD_MS_MAX = 120_000
const SILENT_MS_MAX = 3_000

export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<Reply<T>> {
  const response = await send(method, path, options)
  if (response === undefined) return { kind: 'lost' }
  try {
    const text = await response.text()
    const body: unknown = text === '' ? {} : JSON.parse(text)
    return response.ok ? { kind: 'ok', body: body as T } : refusedBy(response, body)
  } catch {
    return { kind: 'lost' }
  }
}

export const get = <T>(path: string): Promise<Reply<T>> => call<T>('GET', path)

/** Downloads a file. */
export async function download(path: string, accept: string, name: string): Promise<Reply<void>> {
  const response = await send('GET', path, { accept })
  if (response === undefined) return { kind: 'lost' }
  if (!response.ok) return refusedBy(response, await response.json().catch(() => ({})))
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
  return { kind: 'ok', body: undefined }
}

/** Unlike randomUUID it also exists without HTTPS. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

async function send(method: Method, path: string, options: CallOptions): Promise<Response | undefined> {
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: options.accept ?? 'application/json',
        // Forms and pages of other sites can't send this header: the server requires it for every change.
        'x-stampede-ops': '1',
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...(options.key !== undefined && { 'idempotency-key': options.key }),
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.file !== undefined && { body: options.file }),
      ...(options.accept === undefined && {
        signal: AbortSignal.timeout(options.file === undefined ? ANSWER_MS_MAX : UPLOAD_MS_MAX),
      }),
    })
    noteAnswer()
    return response
  } catch {
    // One lost call while others are answered does not mean that the server is unreachable.
    if (Date.now() - store.answeredAtMs > SILENT_MS_MAX) {
      store.unreachableSinceMs ??= store.answeredAtMs || Date.now()
      store.changed()
    }
    return undefined
  }
}

function noteAnswer(): void {
  store.answeredAtMs = Date.now()
  if (store.unreachableSinceMs === undefined) return
  store.unreachableSinceMs = undefined
  store.changed()
}

function refusedBy(response: Response, body: unknown): Refused {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (response.status === 401 && typeof store.operator === 'string') {
    forget()
    store.expired = true
    store.changed()
  }
  return {
    kind: 'refused',
    status: response.status,
    code: typeof problem.code === 'string' ? problem.code : 'unknown',
    detail: typeof problem.detail === 'string' ? problem.detail : `HTTP ${response.status}`,
    field: typeof problem.field === 'string' ? problem.field : undefined,
  }
}
