/**
 * One request off the hot path: its parameters, its body read within bounds, its bearer token; and the answers handlers give. Handlers
 * throw `ProblemError` for what does not fit.
 */

import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { isId } from '../../domain/ids.ts'
import type { Call } from '../../wire/call.ts'
import { faultOfJson } from './json-text.ts'
import { bodyInvalid, ProblemError } from './problem-response.ts'
import { UNRENDERED } from './security-headers.ts'

export const BODY_BYTES_MAX = 16 * 1024
/** The most that any payment provider's callback may have. */
export const CALLBACK_BYTES_MAX = 64 * 1024
const BEARER = 'Bearer '
const BEARER_LOWER = BEARER.toLowerCase()
const SPACE = 0x20

export interface Exchange {
  readonly request: Request
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
}

export type Handler = (exchange: Exchange) => Response | Promise<Response>

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Segments in braces are parameters: `/api/sales/{sale}`. */
  readonly path: string
  readonly handle: Handler
  /** Of its body; undefined: `BODY_BYTES_MAX`. */
  readonly bytesMax?: number
}

/** A described call and what answers it. */
export function route({ method, path }: Pick<Call, 'method' | 'path'>, handle: Handler): Route {
  return { method, path, handle }
}

const JSON_HEADERS = { 'content-type': 'application/json', ...UNRENDERED }

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...JSON_HEADERS, ...headers } })
}

/** An answer for this moment or this client only. */
export function uncached(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return json(body, status, { ...headers, 'cache-control': 'no-store' })
}

/** @param cookies the values of `Set-Cookie` that take the session away */
export function signedOut(cookies: readonly string[]): Response {
  return withCookies(new Response(null, { status: 204, headers: { 'cache-control': 'no-store' } }), cookies)
}

/** The same answer, with a `Set-Cookie` for each value. */
export function withCookies(answer: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) answer.headers.append('set-cookie', cookie)
  return answer
}

/** The text, or `304` for a client that has it already. */
export function withEtag(request: Request, text: string, headers: Readonly<Record<string, string>>): Response {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const all = { etag, 'cache-control': 'no-cache', ...headers }
  if (hasTag(request, etag)) return new Response(null, { status: 304, headers: { etag, 'cache-control': 'no-cache' } })
  return new Response(text, { headers: all })
}

/** Has the client this version already? */
export function hasTag(request: Request, etag: string): boolean {
  const given = request.headers.get('if-none-match')
  return given?.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*') ?? false
}

export function jsonWithEtag(request: Request, body: unknown): Response {
  return withEtag(request, JSON.stringify(body), JSON_HEADERS)
}

export function idParam(exchange: Exchange, name: string): string {
  const value = exchange.params[name] ?? ''
  // What is no id is not in the ledger: no need to ask.
  if (!isId(value)) throw new ProblemError('not_found')
  return value
}

export function bearerOf(request: Request): string | undefined {
  const header = request.headers.get('authorization')
  return header === null ? undefined : bearerIn(header)
}

export function bearerIn(header: string): string | undefined {
  const at = bearerStart(header)
  if (at > 0) return header.slice(at)
  return header.length > BEARER.length && header.slice(0, BEARER.length).toLowerCase() === BEARER_LOWER
    ? header.slice(BEARER.length).trim()
    : undefined
}

/** Where the token begins in the usual spelling; 0 in any other. For reading it without copying it. */
export function bearerStart(header: string): number {
  return header.startsWith(BEARER) && header.charCodeAt(BEARER.length) > SPACE ? BEARER.length : 0
}

/** The body as JSON, whatever it calls itself, or undefined when there is none. */
function parseJson(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw bodyInvalid('', 'The body is not valid JSON.')
  }
  const fault = faultOfJson(text)
  if (fault !== undefined) throw bodyInvalid(fault.field, fault.detail)
  return value
}

/** Checked against its schema; the first thing that does not fit is named. */
export async function readBody<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  return parseBody(await readBytes(request), schema)
}

/** The same of a body that was read as it came, for its signature. */
export function parseBody<T>(bytes: Uint8Array, schema: z.ZodType<T>): T {
  const given = bytes.byteLength === 0 ? undefined : parseJson(bytes)
  const parsed = schema.safeParse(given === undefined ? {} : given)
  if (parsed.success) return parsed.data
  throw misfit(parsed.error, 'The body')
}

/** The query by the call's schema. A parameter given twice is refused; unknown ones are ignored. */
export function readQuery<T extends z.ZodObject>(exchange: Exchange, schema: T): z.output<T> {
  const given: Record<string, string> = {}
  const { searchParams } = new URL(exchange.request.url)
  for (const name of Object.keys(schema.shape)) {
    const values = searchParams.getAll(name)
    if (values.length > 1) throw bodyInvalid(name, `"${name}" is given twice.`)
    // An empty value is an unset one.
    if (values[0]) given[name] = values[0]
  }
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw misfit(parsed.error, 'The query')
}

/**
 * One page of a list: one row more than is shown is read, to find out whether there is another page. `next` is the cursor for `after`;
 * null at the end.
 */
export async function readPage<Row extends { readonly id: string }>(
  limit: number,
  read: (limit: number) => Promise<readonly Row[]>,
) {
  const found = await read(limit + 1)
  const shown = found.slice(0, limit)
  return { shown, next: found.length > limit ? (shown.at(-1)?.id ?? null) : null }
}

function misfit(error: z.ZodError, whole: string): ProblemError {
  const issue = error.issues[0]
  const path = [...(issue?.path ?? []), ...(issue?.code === 'unrecognized_keys' ? [issue.keys[0]] : [])]
  const field = path.join('.')
  const message = issue?.code === 'unrecognized_keys' ? 'is not known here' : (issue?.message ?? 'is not valid')
  return bodyInvalid(field, `${field === '' ? whole : `"${field}"`}: ${message}.`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw bodyInvalid('', 'The body is not valid UTF-8.')
  }
}

export function declaredBytes(request: Request): number {
  return Number(request.headers.get('content-length') ?? 0)
}

/**
 * Reads no further than the bound, whatever the headers say. A declared length is the parser's own bound, so such a body is read in one
 * piece: as a stream it would cost an order more than everything else that the process does for it.
 */
export async function readBytes(request: Request, bytesMax = BODY_BYTES_MAX): Promise<Uint8Array> {
  const declared = declaredBytes(request)
  if (declared > bytesMax) throw new ProblemError('body_too_large')
  if (declared > 0) {
    const bytes = new Uint8Array(await request.arrayBuffer())
    if (bytes.byteLength > bytesMax) throw new ProblemError('body_too_large')
    return bytes
  }
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > bytesMax) throw new ProblemError('body_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
