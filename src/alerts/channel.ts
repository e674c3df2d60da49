/**
 * Where alerts go, as their sender sees it: a channel takes a message whole or not at all, and never throws for what its receiver does. Does not
 * know troubles' rows, retries or other channels.
 */

export type ChannelName = 'webhook' | 'slack' | 'email'

/** One trouble that has begun or is over. */
export interface AlertPart {
  /** The same in every try: a receiver that has seen it can skip it. */
  readonly id: string
  readonly kind: 'began' | 'ended'
  readonly code: string
  readonly which: string | undefined
  readonly sale: string | undefined
  readonly item: string | undefined
  readonly count: number | undefined
  /** What the check found. */
  readonly words: string | undefined
  readonly saleName: string | undefined
  readonly itemName: string | undefined
  /** The process that saw it first. */
  readonly process: string | undefined
  readonly sinceMs: number
  /** Of an end: when it was last seen. */
  readonly untilMs: number | undefined
  /** How often it began since it was last told. */
  readonly times: number
}

export interface AlertMessage {
  readonly id: string
  /** Sent by hand, to see whether messages arrive. */
  readonly isTest: boolean
  /** The installation it comes from. */
  readonly source: string
  /** Of the operations page; undefined: the server does not know its own address. */
  readonly page: string | undefined
  readonly parts: readonly AlertPart[]
}

export type Told =
  /** `but`: not all of it went well, and a second try would not help. */
  { readonly kind: 'told'; readonly but?: string } | { readonly kind: 'failed'; readonly why: string }

export interface AlertChannel {
  readonly name: ChannelName
  /** Once. Ends when `signal` aborts, as a failed try. */
  send(message: AlertMessage, signal: AbortSignal): Promise<Told>
}
