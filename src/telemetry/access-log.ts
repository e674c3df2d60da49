/**
 * One log line per sampled answer: one in a thousand of the cheap refusals of an order, one in a hundred of all other answers (the first
 * of each included), and every answer with a status of 500 or more. A line holds the route's template and never the address, a query or
 * a header, so no token can get into it.
 *
 * Request ids connect an answer, a log line and the shop's own log. The client's `x-request-id` is kept if it is short and harmless;
 * otherwise one is made, unique in this process by counting, among processes by chance. An id is no secret.
 */

import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'

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
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/

export function createAccessLog(log: Log) {
  let refusals = 0
  let answers = 0
  return {
    /** True if the refusal that comes next is sampled: it must then be passed to `write`. */
    refusalDue: () => refusals++ % REFUSALS_PER_LINE === 0,
    /** The same for any other answer. */
    due: (status: number) => status >= SERVER_ERROR || answers++ % ANSWERS_PER_LINE === 0,
    write({ ms, ...line }: AccessLine): void {
      const fields = { ...line, ...(ms !== undefined && { ms: Math.round(ms * 100) / 100 }) }
      if (line.status >= SERVER_ERROR) log.warn(fields, 'answered')
      else log.info(fields, 'answered')
    },
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
