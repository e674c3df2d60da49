/** What buyers’ calls answer. Made from the server’s own schemas by `npm run reference`: change those, not this file. */

export interface Contact {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly name?: string | undefined
  readonly address?: string | undefined
}

export interface Guest {
  readonly token: string
  readonly buyer: string
}

/** A 64-bit number, always as a string. */
export type Id = string

export interface Item {
  readonly id: Id
  readonly sku?: string | undefined
  readonly name: string
  readonly image?: string | undefined
  /** Plain text, line breaks kept. In the answer of one sale; lists and live messages leave it out. */
  readonly description?: string | undefined
  /** The name in other languages. Where the language of the buyer is missing, `name` is shown. */
  readonly texts?: {
    readonly en?: {
      readonly name: string
    } | undefined
    readonly zh?: {
      readonly name: string
    } | undefined
  } | undefined
  readonly price: Money
  readonly listPrice?: Money | undefined
  /** Put on sale. */
  readonly units: number
  /** Units that can still be ordered. */
  readonly left: number
  /** Sold out and every unit is paid for: only a refund or new stock brings one back. Missing: units are left, may return, or it is not known. */
  readonly mayReturn?: false | undefined
  /** Per order. */
  readonly quantityMax: number
  /** Orders per buyer, one live at a time. */
  readonly attemptsMax: number
  readonly payWithinSeconds: number
  /** The number of shards its units may be spread over; missing: one. */
  readonly shards?: number | undefined
}

export interface Join {
  /** Given in the order of joining, never twice. */
  readonly number: number
  /** `admitted`: a ticket is given until `claimBy`. `missed`: that time is over. `done`: there is a live order. */
  readonly state: 'waiting' | 'admitted' | 'missed' | 'done'
  /** null before the draw. */
  readonly place: number | null
  /** How many are let in before. null before the draw. */
  readonly ahead: number | null
  /** From the rates of the last minute; null: unknown. */
  readonly estimate: {
    readonly fromSeconds: number
    readonly toSeconds: number
  } | null
  /** Ask again after so long. */
  readonly pollAfterSeconds: number
  /** Of `admitted`. */
  readonly claimBy?: string | undefined
  /** Units left in the sale; null: not known here. At 0 the line waits for units that come back. */
  readonly left: number | null
  /** HMAC-SHA-256 of sale, number and buyer under the salt: what the record of a draw shows of this join. */
  readonly proof: string
  /** Known to this buyer alone. */
  readonly salt: string
  /** Of the chain over all joins up to this one: a receipt. */
  readonly head: string
}

/** In minor units, by the exponent of ISO 4217: 199900 is 1,999.00 CNY, 199,900 JPY or 199.900 KWD. */
export interface Money {
  readonly amount: number
  readonly currency: string
}

export interface Order {
  readonly id: Id
  readonly sale: Id
  readonly item: Id
  readonly buyer: string
  readonly attempt: number
  readonly quantity: number
  readonly amount: Money
  readonly state: 'reserved' | 'pending' | 'paid' | 'closed'
  readonly reason?: 'unpaid' | 'cancelled' | 'refused' | 'refunded' | undefined
  readonly supersededBy?: Id | undefined
  readonly reservedAt: Time
  readonly placedAt?: Time | undefined
  readonly payBy?: Time | undefined
  readonly paidAt?: Time | undefined
  readonly closedAt?: Time | undefined
  readonly payment?: OrderPayment | undefined
}

/** The payment that has paid the order, else the newest. */
export interface OrderPayment {
  readonly provider: string
  readonly method?: string | undefined
  /** `declined`: the last try failed. `expired`: it ended without money. Both: the buyer can start again. */
  readonly state: 'started' | 'declined' | 'expired' | 'captured' | 'refunded'
  /** The text of a code that can be scanned now. */
  readonly qr?: string | undefined
}

export interface Orders {
  readonly orders: ReadonlyArray<Order>
  /** The cursor for `after`; null at the end. */
  readonly next: Id | null
}

/** Contact and metadata are shown where the sale has `contactFields`. */
export interface OwnOrder {
  readonly id: Id
  readonly sale: Id
  readonly item: Id
  readonly buyer: string
  readonly attempt: number
  readonly quantity: number
  readonly amount: Money
  readonly state: 'reserved' | 'pending' | 'paid' | 'closed'
  readonly reason?: 'unpaid' | 'cancelled' | 'refused' | 'refunded' | undefined
  readonly supersededBy?: Id | undefined
  readonly reservedAt: Time
  readonly placedAt?: Time | undefined
  readonly payBy?: Time | undefined
  readonly paidAt?: Time | undefined
  readonly closedAt?: Time | undefined
  readonly payment?: OrderPayment | undefined
  readonly contact?: Contact | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** How the sale can be paid. The first method of the first provider is the default. */
export interface PaymentOffer {
  readonly provider: string
  readonly methods: ReadonlyArray<{
    readonly name: string
    /** A code is shown that the buyer scans with a phone. */
    readonly qr: boolean
  }>
}

export interface PaymentStarted {
  readonly payment: string
  readonly provider: string
  readonly method: string
  /** Where the buyer pays. Of some methods an address that only the app of the provider opens. */
  readonly payUrl: string
  /** The text of a code that the buyer scans with a phone. */
  readonly qr?: string | undefined
  /** For a form of the shop's own, or the script inside the provider's app: what it asks for. */
  readonly client?: Readonly<Record<string, string>> | undefined
}

export interface Sale {
  readonly id: Id
  readonly name: string
  /** The name in other languages. Where the language of the buyer is missing, `name` is shown. */
  readonly texts?: {
    readonly en?: {
      readonly name: string
    } | undefined
    readonly zh?: {
      readonly name: string
    } | undefined
  } | undefined
  readonly opensAt: Time
  readonly closesAt: Time
  /** Only operators see drafts. */
  readonly state: 'draft' | 'scheduled' | 'open' | 'paused' | 'sold_out' | 'over'
  readonly rule: 'first_come' | 'draw'
  readonly warmBeforeSeconds: number
  /** Tickets are given out from so long before the opening. */
  readonly ticketsBeforeSeconds: number
  /** Whether the ticket asks for a proof of work first. */
  readonly challenge: 'off' | 'auto' | number
  readonly items: ReadonlyArray<Item>
  readonly line?: SaleLine | undefined
  /** It is in no public list. */
  readonly listed?: false | undefined
  /** What the buyer must say before paying. Missing: nothing. */
  readonly contactFields?: ReadonlyArray<'email' | 'phone' | 'name' | 'address'> | undefined
  readonly payment?: ReadonlyArray<PaymentOffer> | undefined
}

export interface SaleLine {
  readonly opensAt: string
  readonly order: 'arrival' | 'draw'
  readonly state: 'scheduled' | 'joining' | 'drawn' | 'letting_in' | 'over'
  /** How many are in line, as far as the server that is asked knows. */
  readonly joined: number
  readonly rate: "auto" | number
  readonly claimWithinSeconds: number
  readonly sealsAt?: string | undefined
  /** An operator lets no more people in for now. */
  readonly paused?: boolean | undefined
  readonly commitment?: string | undefined
  readonly root?: string | undefined
  readonly seed?: string | undefined
  readonly beacon?: {
    readonly source: string
    readonly round?: number | undefined
    /** From the draw on. */
    readonly value?: string | undefined
    /** Of drand: proves the value. */
    readonly signature?: string | undefined
  } | undefined
  /** Each value of this claim of the shop's token may join once. */
  readonly claim?: string | undefined
}

export interface ServerTime {
  readonly now: Time
  readonly unixMs: number
}

export interface Session {
  readonly buyer: string | null
  readonly guests: boolean
  /** Where buyers sign in at the shop; `{return}` stands for the address to come back to. */
  readonly signInUrl?: string | undefined
}

export interface Ticket {
  readonly ticket: string
  readonly attempt: number
  readonly notBefore: Time
  readonly expiresAt: Time
}

/** RFC 3339 in UTC with milliseconds. */
export type Time = string

/** Every code that a buyer's call may be refused with. docs/reference/errors.md says what each means. */
export type ProblemCode =
  | 'attempts_used'
  | 'body_invalid'
  | 'body_too_large'
  | 'busy'
  | 'challenge_invalid'
  | 'challenge_required'
  | 'claim_required'
  | 'claim_used'
  | 'contact_invalid'
  | 'contact_missing'
  | 'denied'
  | 'forbidden'
  | 'hold_limit'
  | 'internal'
  | 'no_payment_provider'
  | 'not_admitted'
  | 'not_drawn'
  | 'not_enough'
  | 'not_found'
  | 'not_in_line'
  | 'not_placed'
  | 'order_closed'
  | 'order_paid'
  | 'payment_refused'
  | 'payments_used'
  | 'quantity_invalid'
  | 'rate_limited'
  | 'sale_not_open'
  | 'sale_over'
  | 'sale_paused'
  | 'signature_invalid'
  | 'sold_out'
  | 'ticket_invalid'
  | 'unauthenticated'
