/** Reads an answer to an order request into the form that the promises check. Parses as little as possible: most answers are refusals. */

import type { Told, ToldOrder } from '../../domain/promises/snapshot.ts'
import { PROBLEMS, type ProblemCode } from '../../wire/problems.ts'
import type { Answer } from './connection.ts'

/** `unexpected`: an answer that the API does not define for this request. */
export type OrderAnswer = Told['answer'] | { readonly kind: 'unexpected'; readonly what: string }

const CODE = Buffer.from('"code":"')
type Refusal = Exclude<Told['answer']['kind'], 'placed' | 'reserved' | 'same' | 'not_enough'>
const REFUSALS: Readonly<Partial<Record<ProblemCode, Refusal>>> = {
  sold_out: 'sold_out',
  sale_not_open: 'early',
  sale_paused: 'paused',
  attempts_used: 'attempts_used',
  sale_over: 'over',
  rate_limited: 'rate_limited',
  busy: 'busy',
  ticket_invalid: 'invalid',
}
const FROM_PROXY: ReadonlySet<number> = new Set([502, 503, 504])
const STATES: ReadonlySet<unknown> = new Set<ToldOrder['state']>(['reserved', 'pending', 'paid', 'closed'])
const STATE_LENGTH_MAX = 40
const WITH_ORDER: Readonly<Record<number, 'placed' | 'reserved' | 'same'>> = {
  201: 'placed',
  202: 'reserved',
  200: 'same',
}

export function readOrderAnswer(answer: Answer): OrderAnswer {
  const kind = WITH_ORDER[answer.status]
  if (kind !== undefined) {
    const order = readOrder(answer)
    return order === undefined ? unexpected(answer) : { kind, order }
  }
  const code = codeOf(answer) as ProblemCode
  if (!Object.hasOwn(PROBLEMS, code) || PROBLEMS[code].status !== answer.status) return unexpected(answer)
  if (code === 'not_enough') return { kind: 'not_enough', left: Number(readJson(answer)?.left) }
  const refusal = REFUSALS[code]
  return refusal === undefined ? unexpected(answer) : { kind: refusal }
}

/** From a proxy that lost the server behind it: the request may have taken effect. */
export function isFromProxy(answer: Answer): boolean {
  return FROM_PROXY.has(answer.status) && codeOf(answer) === ''
}

/** Undefined when it is not an order, or its state is unknown here: a server of another version may have more states. */
export function readOrder(answer: Answer): ToldOrder | undefined {
  const { id, attempt, quantity, state } = readJson(answer) ?? {}
  const known = typeof id === 'string' && typeof attempt === 'number' && typeof quantity === 'number' && isState(state)
  return known ? { id, attempt, quantity, state } : undefined
}

/** Status, and the problem's code or what is unexpected about the body. */
export function describeAnswer(answer: Answer): string {
  return `${answer.status} ${codeOf(answer) || oddState(answer)}`.trim()
}

export function readJson({ bytes, bodyAt }: Answer): Readonly<Record<string, unknown>> | undefined {
  return parseObject(bytes.toString('utf8', bodyAt))
}

/** Undefined when the text is not a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The problem's code; empty when there is none. */
export function codeOf({ bytes, bodyAt }: Answer): string {
  const at = bytes.indexOf(CODE, bodyAt)
  if (at < 0) return ''
  const from = at + CODE.length
  const to = bytes.indexOf(34, from)
  return to < 0 ? '' : bytes.toString('latin1', from, to)
}

function unexpected(answer: Answer): OrderAnswer {
  const what = describeAnswer(answer)
  return { kind: 'unexpected', what: what === String(answer.status) ? `${what} without a known body` : what }
}

function oddState(answer: Answer): string {
  const state = WITH_ORDER[answer.status] === undefined ? undefined : readJson(answer)?.state
  if (typeof state !== 'string' || isState(state)) return ''
  return `with an order in an unknown state: ${JSON.stringify(state.slice(0, STATE_LENGTH_MAX))}`
}

function isState(state: unknown): state is ToldOrder['state'] {
  return STATES.has(state)
}
