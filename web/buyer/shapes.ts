/** What the server sends, as API.md has it. Names and texts in it are data: shown as text, never as anything else. */

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
  readonly payWithinSeconds: number
}

export interface Sale {
  readonly id: string
  readonly name: string
  readonly opensAt: string
  readonly closesAt: string
  readonly state: 'scheduled' | 'open' | 'paused' | 'sold_out' | 'over'
  readonly warmBeforeSeconds?: number
  readonly items: readonly Item[]
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
  readonly payBy?: string
  readonly paidAt?: string
  readonly closedAt?: string
}

export interface Ticket {
  readonly ticket: string
  readonly attempt: number
  readonly expiresAt: string
}

/** What comes over the live connection. */
export type LiveMessage =
  | { readonly type: 'order'; readonly order: Order }
  | { readonly type: 'stock'; readonly sale: string; readonly item: string; readonly left: number }
  | { readonly type: 'sale'; readonly sale: Sale }
