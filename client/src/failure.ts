/** Why a call did not succeed: one class, one closed set of codes. */

import type { ProblemCode } from './wire.ts'

/**
 * A code of the server, or one of ours:
 * no_answer      the server did not answer: it is unknown whether it has done it. Reads and orders may be sent again
 * not_stampede   what answered is no Stampede server (a proxy, a captive portal, a wrong address)
 * not_solved     the sale asks for a check that this client can't do
 * aborted        the caller's signal ended it
 */
export type FailureCode = ProblemCode | 'no_answer' | 'not_stampede' | 'not_solved' | 'aborted'

interface Details {
  readonly status?: number
  readonly retryAfterMs?: number | undefined
  /** Members of the answer beyond code and detail: `left`, `opensAt`, `challenge`, … */
  readonly more?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class StampedeFailure extends Error {
  override readonly name = 'StampedeFailure'
  readonly code: FailureCode
  /** 0: there was no answer. */
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly more: Readonly<Record<string, unknown>>

  constructor(code: FailureCode, message: string, { status = 0, retryAfterMs, more = {}, cause }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.more = more
  }

  /** The same call again, later, may succeed, and never does anything twice. */
  get passing(): boolean {
    return this.code === 'no_answer' || this.code === 'busy' || this.code === 'rate_limited' || this.status >= 500
  }
}
