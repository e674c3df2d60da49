/** What the server says, as far as this page reads it. The shapes are those of the API's description. */

export interface Money {
  readonly amount: number
  readonly currency: string
}

export interface Item {
  readonly id: string
  readonly sku?: string
  readonly name: string
  readonly image?: string
  readonly price: Money
  readonly listPrice?: Money
  readonly units: number
  readonly left: number
  readonly quantityMax: number
  readonly attemptsMax: number
  readonly payWithinSeconds: number
}

export type SaleState = 'draft' | 'scheduled' | 'open' | 'paused' | 'sold_out' | 'over'

export interface Sale {
  readonly id: string
  readonly name: string
  readonly opensAt: string
  readonly closesAt: string
  readonly state: SaleState
  readonly warmBeforeSeconds: number
  readonly items: readonly Item[]
}

export interface Audit {
  readonly item: string
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
  readonly gate: { readonly left: number; readonly held: number } | null
  readonly outbox: number
  readonly releases: number
  readonly door: string
  readonly epoch: number
  readonly consistent: boolean
  readonly violations: readonly { readonly promise: number; readonly message: string }[]
}

export interface Standing {
  readonly item: string
  readonly line: number
  readonly unsettled: number
  readonly selling: 'selling' | 'withdrawn' | 'shut' | 'skewed' | 'away'
}

export interface Sample {
  readonly at: string
  readonly requestsPerSecond: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly line: number
}

export const FUNNEL_STEPS = ['asked', 'limited', 'soldOut', 'refused', 'reserved', 'placed', 'paid'] as const
export type FunnelStep = (typeof FUNNEL_STEPS)[number]

export type TroubleCode =
  | 'unready'
  | 'ledger_away'
  | 'promise_broken'
  | 'inconsistent'
  | 'unsettled'
  | 'withdrawn'
  | 'door_shut'
  | 'clock_skew'
  | 'refunds_stuck'
  | 'alarm'
  /** Found by the page itself: the server does not answer. */
  | 'unreachable'

export interface Trouble {
  readonly code: TroubleCode
  readonly since: string
  readonly which?: string
  readonly sale?: string
  readonly item?: string
  readonly count?: number
  readonly words?: string
}

export interface Watch {
  readonly at: string
  readonly sale: Sale
  readonly audit: readonly Audit[] | null
  readonly items: readonly Standing[]
  readonly funnel: Readonly<Record<FunnelStep, number>> & { readonly since: string }
  readonly recent: readonly Sample[]
  readonly reconciled: { readonly at: string; readonly differences: number; readonly repairs: number } | null
  readonly trouble: readonly Trouble[]
}

export interface Order {
  readonly id: string
  readonly sale: string
  readonly item: string
  readonly buyer: string
  readonly attempt: number
  readonly quantity: number
  readonly amount: Money
  readonly state: 'reserved' | 'pending' | 'paid' | 'closed'
  readonly reason?: 'unpaid' | 'cancelled' | 'refused' | 'refunded'
  readonly reservedAt: string
  readonly placedAt?: string
  readonly payBy?: string
  readonly paidAt?: string
  readonly closedAt?: string
}

interface Payment {
  readonly id: string
  readonly provider: string
  readonly ref: string
  readonly amount: Money
  readonly state: string
  readonly why?: string
  readonly startedAt: string
}

export interface WholeOrder extends Order {
  readonly payments: readonly Payment[]
  readonly history: readonly { readonly at: string; readonly what: string; readonly by?: string }[]
}

export interface LogLine {
  readonly id: string
  readonly at: string
  readonly by: string
  readonly action: string
  readonly sale?: string
  readonly item?: string
  readonly order?: string
  readonly details: unknown
}

interface Finding {
  readonly kind: string
  readonly [key: string]: unknown
}

export interface Report {
  readonly differences: readonly Finding[]
  readonly repairs: readonly Finding[]
}
