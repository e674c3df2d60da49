/**
 * One request off the hot path: its address taken apart, its body read within bounds, its sender known. Handlers get this instead
 * of the raw request and throw `ProblemError` for whatever does not fit.
 */

import type { z } from 'zod'
import { isId } from '../domain/ids.ts'
import { ProblemError } from './problems.ts'

const BODY_BYTES_MAX = 16 * 1024
const JSON_DEPTH_MAX = 32

export interface Exchange {
  readonly request: Request
  readonly url: URL
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
}

export type Handler = (exchange: Exchange) => Response | Promise<Response>

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Segments in braces are parameters: `/api/sales/{sale}`. */
  readonly path: string
  readonly handle: Handler
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

export function idParam(exchange: Exchange, name: string): string {
  const value = exchange.params[name] ?? ''
  // Nothing that is not an id is in the ledger; there is no need to ask it.
  if (!isId(value)) throw new ProblemError('not_found')
  return value
}

export function bearerOf(request: Request): string | undefined {
  const header = request.headers.get('authorization')
  return header !== null && header.length > 7 && header.slice(0, 7).toLowerCase() === 'bearer '
    ? header.slice(7).trim()
    : undefined
}

/** The body as JSON, whatever it calls itself, or undefined when there is none. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request)
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ProblemError('body_invalid', 'The body is not valid JSON.', { field: '' })
  }
  if (depthOf(value, JSON_DEPTH_MAX) > JSON_DEPTH_MAX)
    throw new ProblemError('body_invalid', 'The body is nested too deeply.', { field: '' })
  return value
}

/** Checked against its schema; the first thing that does not fit is named. */
export async function readBody<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse((await readJson(request)) ?? {})
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const field = issue?.path.join('.') ?? ''
  throw new ProblemError(
    'body_invalid',
    `${field === '' ? 'The body' : `"${field}"`}: ${issue?.message ?? 'is not valid'}.`,
    { field },
  )
}

async function readText(request: Request): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readBytes(request))
  } catch (error) {
    if (error instanceof ProblemError) throw error
    throw new ProblemError('body_invalid', 'The body is not valid UTF-8.', { field: '' })
  }
}

/** Reads no further than the bound, whatever the headers say. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > BODY_BYTES_MAX) throw new ProblemError('body_too_large')
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > BODY_BYTES_MAX) throw new ProblemError('body_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function depthOf(value: unknown, max: number): number {
  if (value === null || typeof value !== 'object') return 0
  if (max < 0) return 1
  let deepest = 0
  for (const child of Object.values(value)) deepest = Math.max(deepest, depthOf(child, max - 1))
  return deepest + 1
}

/** A whole number in the query, within bounds; the default when it is missing. */
export function limitOf(exchange: Exchange, byDefault: number, max: number): number {
  const value = exchange.url.searchParams.get('limit')
  if (value === null) return byDefault
  if (!/^[0-9]{1,6}$/.test(value) || Number(value) < 1)
    throw new ProblemError('body_invalid', '"limit" is a whole number from 1 up.', { field: 'limit' })
  return Math.min(Number(value), max)
}

export function cursorOf(exchange: Exchange): string | undefined {
  const value = exchange.url.searchParams.get('after')
  if (value === null || value === '') return undefined
  if (!isId(value))
    throw new ProblemError('body_invalid', '"after" is the "next" of an earlier answer.', { field: 'after' })
  return value
}
