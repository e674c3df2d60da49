/**
 * One log line per sampled answer: one in a thousand of the cheap refusals of an order, one in a hundred of all other answers (the first
 * of each included), every answer of a click that is traced, with its trace, and every unexpected error. Answers "busy" come by the thousand while something is away: one line when they begin, a
 * count while they last, one line when they end; the probe that asks whether the process is ready is counted apart. A line holds the route's template and never the address, a query or a header, so no token
 * can get into it.
 *
 * Request ids connect an answer, a log line and the shop's own log. The client's `x-request-id` is kept if it is short and harmless;
 * otherwise one is made, unique in this process by counting, among processes by chance. An id is no secret.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { OutageLog } from '../base/outage-log.ts'
import type { Random } from '../base/random.ts'
import { operationsCalls } from '../wire/calls/operations-calls.ts'
import { PROBLEMS } from '../wire/problems.ts'

interface AccessLine {
  readonly requestId: string
  readonly method: string
  /** The template, never the address itself. */
  readonly route: string
  readonly status: number
  readonly ms: number | undefined
}

export const REQUEST_ID_HEADER = 'x-request-id'

const REFUSALS_PER_LINE = 1_000
const ANSWERS_PER_LINE = 100
const SERVER_ERROR = 500
const BUSY = PROBLEMS.busy.status
const BUSY_TEXTS = {
  event: 'busy',
  begins: 'answered busy',
  lasts: 'still answering busy',
  ends: 'no longer answering busy',
} as const
const UNREADY_TEXTS = {
  event: 'unready',
  begins: 'answered unready',
  lasts: 'still answering unready',
  ends: 'answered ready again',
} as const
const READY_PATH = operationsCalls.ready.path
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/

export function createAccessLog({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const busy = new OutageLog({ clock, log }, { status: BUSY }, BUSY_TEXTS)
  const unready = new OutageLog({ clock, log }, { status: BUSY }, UNREADY_TEXTS)
  let refusals = 0
  let answers = 0

  function write(line: AccessLine, trace: string | null = null): void {
    if (line.status >= SERVER_ERROR) log.warn({ event: 'answered_error', ...fieldsOf(line, trace) }, 'answered')
    else log.info({ event: 'answered', ...fieldsOf(line, trace) }, 'answered')
  }

  return {
    /** A refusal that was known at once. True: it must be passed to `refused`. So a crowd's refusals cost no line and no closure each. */
    isRefusalDue(status: number): boolean {
      if (status === BUSY) return true
      busy.worked()
      return refusals++ % REFUSALS_PER_LINE === 0
    },
    refused(line: AccessLine): void {
      if (line.status === BUSY) busy.failed(undefined, () => fieldsOf(line))
      else write(line)
    },
    /** Any other answer. @param fault what made it busy */
    answered(line: AccessLine, fault?: unknown, trace: string | null = null): void {
      // A probe comes every few seconds, ready or not: it neither begins what buyers are told nor ends it.
      const outage = line.route === READY_PATH ? unready : busy
      if (line.status === BUSY) outage.failed(fault, () => fieldsOf(line, trace))
      else {
        outage.worked()
        if (line.status >= SERVER_ERROR || answers++ % ANSWERS_PER_LINE === 0 || trace !== null) write(line, trace)
      }
    },
  }
}

function fieldsOf({ ms, ...line }: AccessLine, trace: string | null = null) {
  return {
    ...line,
    ...(trace !== null && { trace: trace.split('-')[1] }),
    ...(ms !== undefined && { ms: Math.round(ms * 100) / 100 }),
  }
}

/** @returns the request's id, given or made */
export function createRequestIds(random: Random): (given: string | null) => string {
  const process = Buffer.from(random.bytes(6)).toString('base64url')
  let made = 0
  return given => {
    if (given !== null && REQUEST_ID.test(given)) return given
    made += 1
    return `${process}-${made.toString(36)}`
  }
}
