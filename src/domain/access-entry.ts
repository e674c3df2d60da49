/** Whom operators let in or keep out: an address, a prefix of addresses, a buyer, or a claim of the shop's token. */

export const ACCESS_SUBJECTS = ['address', 'prefix', 'buyer', 'claim'] as const

export interface AccessEntry {
  readonly id: string
  readonly kind: 'deny' | 'allow'
  readonly subject: (typeof ACCESS_SUBJECTS)[number]
  /** A claim is `name=value`. */
  readonly value: string
  /** Undefined: for good. */
  readonly untilMs: number | undefined
  readonly reason: string | undefined
  readonly by: string
  readonly atMs: number
}

/** So many every edge keeps in memory. */
export const ACCESS_ENTRIES_MAX = 10_000
