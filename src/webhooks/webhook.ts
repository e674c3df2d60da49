/**
 * Webhooks, as their sender sees them: what is posted, and what came of it. A try never throws for what a receiver does: every answer, refusal
 * and silence is a value. Does not know events, retries or where endpoints are stored.
 */

/** Of an answer's body so much is kept. */
export const ANSWER_BYTES_MAX = 1_024

/** Why a try got no answer, or one that does not count. */
export type TryProblem =
  /** An answer that is neither a success nor a redirect. */
  | 'answer'
  /** It would have led elsewhere: redirects are not followed. */
  | 'redirect'
  /** No whole answer in time. */
  | 'timeout'
  /** The name does not resolve. */
  | 'name'
  /** No connection, or it broke, or TLS failed. */
  | 'connection'
  /** The name leads to an address that may not be called. */
  | 'address'
  /** There was nothing to send: the event was deleted, by its age or with its sale. */
  | 'event'

export interface TryResult {
  /** `gone`: the receiver wants nothing any more. */
  readonly kind: 'delivered' | 'failed' | 'gone'
  /** Absent where it was delivered. */
  readonly problem: TryProblem | undefined
  /** For people: what went wrong, without the receiver's secrets. */
  readonly detail: string | undefined
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined
  /** The beginning of the answer's body as text. */
  readonly answer: string
  readonly tookMs: number
}

/** Posts to an endpoint, once. `signal` ends the try early, as a failed one. */
export type PostWebhook = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal?: AbortSignal,
) => Promise<TryResult>
