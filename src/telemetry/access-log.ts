/**
 * One line per answer, sampled: the first and then one in a thousand of the cheap refusals of an order, one in a hundred of everything
 * else, and every answer that is our own fault. A line has the route's template instead of the address, so that no token that stands in
 * an address, no query and no header can get into it.
 */

import type { Log } from '../base/log.ts'

interface AccessLine {
  readonly requestId: string
  readonly method: string
  /** The template, never the address itself. */
  readonly route: string
  readonly status: number
  readonly ms: number | undefined
}

export interface AccessLog {
  /** True when the refusal that comes next is the one to be written; it must then be given to `write`. */
  refusalDue(): boolean
  /** True likewise for any other answer. */
  due(status: number): boolean
  write(line: AccessLine): void
}

const REFUSALS_PER_LINE = 1_000
const ANSWERS_PER_LINE = 100
const OUR_FAULT = 500

export function createAccessLog(log: Log): AccessLog {
  let refusals = 0
  let answers = 0
  return {
    refusalDue: () => refusals++ % REFUSALS_PER_LINE === 0,
    due: status => status >= OUR_FAULT || answers++ % ANSWERS_PER_LINE === 0,
    write({ ms, ...line }) {
      const fields = { ...line, ...(ms !== undefined && { ms: Math.round(ms * 100) / 100 }) }
      if (line.status >= OUR_FAULT) log.warn(fields, 'answered')
      else log.info(fields, 'answered')
    },
  }
}
