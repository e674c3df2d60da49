/**
 * What every answer has in common: it is counted and timed by the template of its route, sampled into the access log, and gets the request
 * id and the headers for browsers. Whatever a handler throws becomes an answer: a problem as it is, a retryable fault "busy", anything else
 * a 500 with a request id and no detail.
 *
 * States: serving → draining (every answer asks the client to close the connection).
 */

import { type Clock, systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { type Meters, noMeters, type RouteMeter } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import { createAccessLog, createRequestIds, REQUEST_ID_HEADER } from '../../telemetry/access-log.ts'
import type { Browsers } from '../browsers.ts'
import { TRACE_RESPONSE_HEADER } from '../traced-answer.ts'
import { declaredBytes } from './exchange.ts'
import { ProblemError, plainProblem, problem } from './problem-response.ts'

export interface AnsweringParts {
  readonly clock?: Clock
  readonly log: Log
  readonly random: Random
  readonly meters?: Meters
  /** Sets the headers that browsers need, on every answer. */
  readonly applyHeaders?: Browsers['applyHeaders']
}

/** One request between its arrival and its answer. */
export interface Passage {
  readonly request: Request
  readonly requestId: string
  readonly fromMs: number
  route: string
  meter: RouteMeter
}

/** Of a body that is refused, so much is still read, so that its sender gets the answer; beyond that the connection is closed. */
const BODY_BYTES_DISCARDED_MAX = 1024 * 1024
/** Reading the clock twice costs more than counting a cheap refusal: one in so many is timed. A power of two. */
const REFUSALS_PER_TIMED = 64

export type Answering = ReturnType<typeof createAnswering>

export function createAnswering({ clock = systemClock, log, random, meters = noMeters, applyHeaders }: AnsweringParts) {
  const requestIds = createRequestIds(random)
  const access = createAccessLog({ clock, log })
  const known = new Map<string, RouteMeter>()
  let draining = false
  let refusals = 0

  return { meterOf, begin, settle, fail, refusedFrom, refused, drain }

  function drain(): void {
    draining = true
  }

  function meterOf(method: string, route: string): RouteMeter {
    const key = `${method} ${route}`
    const meter = known.get(key) ?? meters.route(method, route)
    known.set(key, meter)
    return meter
  }

  function begin(request: Request, route: string, meter: RouteMeter): Passage {
    const requestId = requestIds(request.headers.get(REQUEST_ID_HEADER))
    return { request, requestId, fromMs: clock.elapsed(), route, meter }
  }

  /** No answer: the connection is a socket now, and the handshake has been answered. */
  async function settle(passage: Passage, answer: Promise<Response | undefined>): Promise<Response | undefined> {
    try {
      const response = await answer
      if (response !== undefined) return finish(passage, response)
      passage.meter.answered(101, clock.elapsed() - passage.fromMs)
      return undefined
    } catch (error) {
      return fail(passage, error)
    }
  }

  function fail(passage: Passage, error: unknown): Response {
    return finish(passage, responseTo(error, passage, log), error instanceof Fault ? error : undefined)
  }

  /** @param fault what a handler threw instead of an answer */
  function finish({ request, requestId, fromMs, route, meter }: Passage, response: Response, fault?: Fault) {
    const { status, headers } = response
    const ms = clock.elapsed() - fromMs
    const trace = headers.get(TRACE_RESPONSE_HEADER)
    meter.answered(status, ms, trace)
    access.answered({ requestId, method: request.method, route, status, ms }, fault, trace)
    headers.set(REQUEST_ID_HEADER, requestId)
    if (draining || leavesTooMuch(request, status)) headers.set('connection', 'close')
    return applyHeaders?.(request, response) ?? response
  }

  /** When a request came that may be a cheap refusal; undefined for those that are not timed. */
  function refusedFrom(): number | undefined {
    return (refusals & (REFUSALS_PER_TIMED - 1)) === 0 ? clock.elapsed() : undefined
  }

  /** A refusal that was known at once: no request id of its own and, most of the time, no reading of the clock. */
  function refused(request: Request, route: string, meter: RouteMeter, answer: Response, fromMs: number | undefined) {
    refusals += 1
    const { status } = answer
    const ms = fromMs === undefined ? undefined : clock.elapsed() - fromMs
    meter.answered(status, ms)
    if (access.isRefusalDue(status)) {
      const requestId = requestIds(request.headers.get(REQUEST_ID_HEADER))
      access.refused({ requestId, method: request.method, route, status, ms })
    }
    if (draining) answer.headers.set('connection', 'close')
    return applyHeaders?.(request, answer) ?? answer
  }
}

function responseTo(error: unknown, { request, requestId, route }: Passage, log: Log): Response {
  if (error instanceof ProblemError) return error.toResponse()
  // The client hung up while its body was read: no answer reaches it, and nothing failed here.
  if (request.signal.aborted) return plainProblem('body_invalid')
  if (error instanceof Fault && error.retryable) return plainProblem('busy')
  log.error({ event: 'answer_failed', requestId, method: request.method, route, err: error }, 'unexpected error')
  return problem('internal', { detail: `Tell the shop this request id: ${requestId}.`, more: { requestId } })
}

/** The rest of the body is not worth reading: it says it is long, or was found too long and does not say where it ends. */
function leavesTooMuch(request: Request, status: number): boolean {
  if (declaredBytes(request) > BODY_BYTES_DISCARDED_MAX) return true
  return status === 413 && request.headers.has('transfer-encoding')
}
