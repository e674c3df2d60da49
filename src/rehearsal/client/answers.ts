/** What an answer says, in the words that the promises know. Reads as little of it as it must: a crowd is refused with the same bytes. */

import type { Told, ToldOrder } from '../../domain/promises/snapshot.ts'
import { PROBLEMS, type ProblemCode } from '../../wire/problems.ts'
import type { Answer } from './connection.ts'

type ToldAnswer = Told['answer']
/** An answer that the API does not know here, as it came. */
interface Unexpected {
  readonly kind: 'unexpected'
  readonly what: string
}
export type Said = ToldAnswer | Unexpected

const CODE = Buffer.from('"code":"')
type Refusal = Exclude<ToldAnswer['kind'], 'placed' | 'reserved' | 'same' | 'not_enough'>
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

export function readOrderAnswer(answer: Answer): Said {
  const kind = WITH_ORDER[answer.status]
  if (kind !== undefined) {
    const order = readOrder(answer)
    return order === undefined ? unexpected(answer) : { kind, order }
  }
  const code = codeOf(answer)
  if (!isProblem(code) || PROBLEMS[code].status !== answer.status) return unexpected(answer)
  if (code === 'not_enough') return { kind: 'not_enough', left: Number(readJson(answer)?.left) }
  const refusal = REFUSALS[code]
  return refusal === undefined ? unexpected(answer) : { kind: refusal }
}

/** Said by a proxy that lost the server behind it, or has none: whatever was asked for may have happened. */
export function isFromProxy(answer: Answer): boolean {
  return FROM_PROXY.has(answer.status) && codeOf(answer) === ''
}

/** Undefined when it is none, or in a state that is not known here: a server of another version may have more of them. */
export function readOrder(answer: Answer): ToldOrder | undefined {
  const order = readJson(answer)
  if (typeof order?.id !== 'string' || typeof order.attempt !== 'number' || typeof order.quantity !== 'number')
    return undefined
  const { id, attempt, quantity, state } = order
  return isState(state) ? { id, attempt, quantity, state } : undefined
}

/** An answer that nobody expected, for people: its status, and its code or what is odd about it. */
export function describeAnswer(answer: Answer): string {
  return `${answer.status} ${codeOf(answer) || oddState(answer)}`.trim()
}

export function readJson({ bytes, bodyAt }: Answer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8', bodyAt))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The problem's code; empty where there is none. */
export function codeOf({ bytes, bodyAt }: Answer): string {
  const at = bytes.indexOf(CODE, bodyAt)
  if (at < 0) return ''
  const from = at + CODE.length
  const to = bytes.indexOf(34, from)
  return to < 0 ? '' : bytes.toString('latin1', from, to)
}

function unexpected(answer: Answer): Unexpected {
  const nothing = codeOf(answer) === '' && oddState(answer) === ''
  return { kind: 'unexpected', what: nothing ? `${answer.status} without a known body` : describeAnswer(answer) }
}

function oddState(answer: Answer): string {
  const state = WITH_ORDER[answer.status] === undefined ? undefined : readJson(answer)?.state
  if (typeof state !== 'string' || isState(state)) return ''
  return `with an order in an unknown state: ${JSON.stringify(state.slice(0, STATE_LENGTH_MAX))}`
}

function isProblem(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code)
}

function isState(state: unknown): state is ToldOrder['state'] {
  return STATES.has(state)
}
