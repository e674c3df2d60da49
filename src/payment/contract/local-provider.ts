/**
 * A provider's side in the tests: a local server that speaks the provider's protocol as its documents state it, with the buyers who pay
 * there, and its books. It signs with code that is not ours. Each provider's fixture offers this shape, so that one test of a whole
 * server runs on every provider.
 */

export interface LocalProvider {
  /** As in PAYMENT_PROVIDERS. */
  readonly name: string
  /** What a server needs to use it, as environment variables; keys included. */
  readonly settings: Readonly<Record<string, string>>
  /** Where the provider sends callbacks, if its requests do not say it. */
  readonly callBackTo?: (url: string) => void
  /** The buyer pays, at the page or with the code of a start. refused: it can no longer be paid. */
  readonly approve: (payUrl: string, callback?: CallbackMode) => Promise<'captured' | 'refused'>
  /** The buyer's bank says no. */
  readonly decline: (payUrl: string) => Promise<void>
  /** What was taken and what was given back, in minor units, by our ref. */
  readonly books: () => ReadonlyMap<string, { readonly captured: number; readonly refunded: number }>
  readonly close: () => Promise<void>
}

/** lost: never sent. double: sent twice at once. late: sent after `lateMs`. */
type CallbackMode = 'plain' | 'lost' | 'double' | { readonly lateMs: number }
