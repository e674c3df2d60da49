/**
 * For tests: an account at Stripe with its sessions, payment intents, charges and refunds, and what its documents say about each call. Time
 * is in whole seconds. Parameters it does not know are refused, as Stripe does.
 */

/** Of a request: `a[b][0]=c` is `{ a: { b: { 0: 'c' } } }`. */
export interface Params {
  readonly [name: string]: string | Params | undefined
}

interface Charge {
  readonly id: string
  readonly object: 'charge'
  readonly created: number
  readonly amount: number
  readonly currency: string
  readonly payment_intent: string
  readonly metadata: Metadata
  readonly livemode: boolean
  amount_refunded: number
  refunded: boolean
}

interface Intent {
  readonly id: string
  readonly object: 'payment_intent'
  readonly created: number
  readonly amount: number
  readonly currency: string
  readonly client_secret: string
  readonly metadata: Metadata
  readonly livemode: boolean
  amount_received: number
  status: string
  last_payment_error: { code: string } | null
  latest_charge: string | null
}

interface Session {
  readonly id: string
  readonly object: 'checkout.session'
  readonly mode: 'payment'
  readonly created: number
  readonly expires_at: number
  readonly amount_total: number
  readonly currency: string
  readonly client_reference_id: string | null
  readonly metadata: Metadata
  readonly intentMetadata: Metadata
  readonly success_url: string
  readonly name: string
  readonly livemode: boolean
  url: string | null
  status: 'open' | 'complete' | 'expired'
  payment_status: 'unpaid' | 'paid'
  payment_intent: string | null
}

interface Refund {
  readonly id: string
  readonly object: 'refund'
  readonly created: number
  readonly amount: number
  readonly currency: string
  readonly payment_intent: string
  readonly metadata: Metadata
  status: string
}

type Metadata = Readonly<Record<string, string>>

export class Refusal extends Error {
  readonly body: { type: string; code?: string; param?: string; message: string }
  readonly status: number

  constructor(message: string, more: { code?: string; param?: string; type?: string; status?: number } = {}) {
    super(message)
    const { status = 400, type = 'invalid_request_error', ...rest } = more
    this.status = status
    this.body = { type, message, ...rest }
  }
}

const SESSION_PARAMS =
  'mode allowed_payment_method_types line_items client_reference_id metadata payment_intent_data adaptive_pricing expires_at success_url cancel_url'
const INTENT_PARAMS = 'amount currency allowed_payment_method_types description metadata'
const REFUND_PARAMS = 'payment_intent amount metadata'
const MINIMUMS: Readonly<Record<string, number>> = { usd: 50, eur: 50, jpy: 50 }
const THREE_DECIMALS = ['bhd', 'jod', 'kwd', 'omr', 'tnd']

export class StripeAccount {
  readonly sessions = new Map<string, Session>()
  readonly intents = new Map<string, Intent>()
  readonly charges = new Map<string, Charge>()
  readonly refunds: Refund[] = []
  /** New refunds wait, as where the account has too little money. */
  refundsPend = false
  readonly #now: () => number
  readonly #pageOf: (id: string) => string
  readonly #live: boolean
  #made = 0

  constructor(now: () => number, pageOf: (id: string) => string, live: boolean) {
    this.#now = () => Math.floor(now() / 1000)
    this.#pageOf = pageOf
    this.#live = live
  }

  createSession(params: Params): Session {
    onlyKnown(params, SESSION_PARAMS)
    if (params.mode !== 'payment') throw new Refusal('mode must be payment', { param: 'mode' })
    const item = textsOf(params, 'line_items', '0', 'price_data')
    const name = textsOf(params, 'line_items', '0', 'price_data', 'product_data').name
    const success = params.success_url
    if (typeof success !== 'string' || !/^https?:/.test(success))
      throw new Refusal('Not a valid URL', { param: 'success_url', code: 'url_invalid' })
    if (!name) throw new Refusal('Missing product name', { param: 'line_items' })
    const [amount, currency] = chargeable(item.unit_amount, item.currency)
    const expires = Number(params.expires_at)
    if (!(expires >= this.#now() + 1800 && expires <= this.#now() + 86_400))
      throw new Refusal('The `expires_at` timestamp must be at least 30 minutes and at most 24 hours from now.', {
        param: 'expires_at',
      })
    const id = this.#id('cs')
    const session: Session = {
      id,
      object: 'checkout.session',
      mode: 'payment',
      created: this.#now(),
      expires_at: expires,
      amount_total: amount,
      currency,
      client_reference_id: (params.client_reference_id as string) ?? null,
      metadata: textsOf(params, 'metadata'),
      intentMetadata: textsOf(params, 'payment_intent_data', 'metadata'),
      success_url: success,
      name,
      livemode: this.#live,
      url: this.#pageOf(id),
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: null,
    }
    this.sessions.set(id, session)
    return session
  }

  createIntent(params: Params): Intent {
    onlyKnown(params, INTENT_PARAMS)
    const [amount, currency] = chargeable(params.amount as string, params.currency as string)
    return this.#intent(amount, currency, textsOf(params, 'metadata'))
  }

  /** The buyer's bank says yes or no. Undefined: it can no longer be paid. */
  payIntent(intent: Intent, approved: boolean): Charge | undefined {
    if (!intent.status.startsWith('requires_')) return undefined
    if (!approved) {
      intent.status = 'requires_payment_method'
      intent.last_payment_error = { code: 'card_declined' }
      return undefined
    }
    const { id, amount, currency, metadata } = intent
    const charge: Charge = {
      id: this.#id('ch'),
      object: 'charge',
      created: this.#now(),
      amount,
      currency,
      payment_intent: id,
      metadata,
      livemode: this.#live,
      amount_refunded: 0,
      refunded: false,
    }
    this.charges.set(charge.id, charge)
    Object.assign(intent, {
      status: 'succeeded',
      amount_received: amount,
      last_payment_error: null,
      latest_charge: charge.id,
    })
    return charge
  }

  /** A buyer at the page. */
  paySession(session: Session, approved: boolean): Intent | undefined {
    if (session.status === 'open' && this.#now() >= session.expires_at) this.expireSession(session)
    if (session.status !== 'open') return undefined
    const intent =
      this.intents.get(session.payment_intent ?? '') ??
      this.#intent(session.amount_total, session.currency, session.intentMetadata)
    session.payment_intent = intent.id
    if (this.payIntent(intent, approved) !== undefined)
      Object.assign(session, { status: 'complete', payment_status: 'paid', url: null })
    return intent
  }

  expireSession(session: Session): Session {
    if (session.status !== 'open')
      throw new Refusal(
        `Only Checkout Sessions with a status in ["open"] can be expired. This one is ${session.status}.`,
      )
    const intent = this.intents.get(session.payment_intent ?? '')
    if (intent !== undefined) intent.status = 'canceled'
    return Object.assign(session, { status: 'expired', url: null })
  }

  cancelIntent(intent: Intent): Intent {
    if (!intent.status.startsWith('requires_'))
      throw new Refusal(`You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`, {
        code: 'payment_intent_unexpected_state',
      })
    return Object.assign(intent, { status: 'canceled' })
  }

  createRefund(params: Params): Refund {
    onlyKnown(params, REFUND_PARAMS)
    const intent = this.find(this.intents, params.payment_intent as string)
    const charge = this.charges.get(intent.latest_charge ?? '')
    if (charge === undefined) throw new Refusal('This PaymentIntent does not have a successful charge to refund.')
    if (charge.refunded)
      throw new Refusal(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' })
    const left = charge.amount - charge.amount_refunded
    const amount = params.amount === undefined ? left : Number(params.amount)
    if (!(amount > 0 && amount <= left))
      throw new Refusal(`Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`, {
        param: 'amount',
      })
    charge.amount_refunded += amount
    charge.refunded = charge.amount_refunded === charge.amount
    const { id, currency } = intent
    const refund: Refund = {
      id: this.#id('re'),
      object: 'refund',
      created: this.#now(),
      amount,
      currency,
      payment_intent: id,
      metadata: textsOf(params, 'metadata'),
      status: this.refundsPend ? 'pending' : 'succeeded',
    }
    this.refunds.push(refund)
    return refund
  }

  /** Days later: the money is there after all, or has come back. */
  settleRefund(refund: Refund, status: 'succeeded' | 'failed'): void {
    refund.status = status
    if (status === 'succeeded') return
    const charge = this.charges.get(this.intents.get(refund.payment_intent)!.latest_charge!)!
    charge.amount_refunded -= refund.amount
    charge.refunded = false
  }

  find<T>(map: ReadonlyMap<string, T>, id: string): T {
    const found = map.get(id)
    if (found === undefined)
      throw new Refusal(`No such object: '${id}'`, { code: 'resource_missing', param: 'id', status: 404 })
    return found
  }

  #intent(amount: number, currency: string, metadata: Metadata): Intent {
    const id = this.#id('pi')
    const intent: Intent = {
      id,
      object: 'payment_intent',
      created: this.#now(),
      amount,
      currency,
      client_secret: `${id}_secret_${this.#id('s')}`,
      metadata,
      livemode: this.#live,
      amount_received: 0,
      status: 'requires_payment_method',
      last_payment_error: null,
      latest_charge: null,
    }
    this.intents.set(id, intent)
    return intent
  }

  #id(kind: string): string {
    return `${kind}_${kind === 'cs' ? 'test_' : ''}${(++this.#made).toString(36).padStart(4, '0')}${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`
  }
}

function onlyKnown(params: Params, known: string): void {
  const unknown = Object.keys(params).find(name => !known.split(' ').includes(name))
  if (unknown !== undefined)
    throw new Refusal(`Received unknown parameter: ${unknown}`, { code: 'parameter_unknown', param: unknown })
}

function chargeable(amountText: string | undefined, currency = ''): [number, string] {
  const amount = Number(amountText)
  if (!/^[a-z]{3}$/.test(currency) || currency === 'xxx')
    throw new Refusal(`Invalid currency: ${currency}`, { param: 'currency' })
  if (!Number.isInteger(amount) || amount < 1)
    throw new Refusal('Invalid integer', { code: 'parameter_invalid_integer', param: 'amount' })
  if (amount < (MINIMUMS[currency] ?? 1))
    throw new Refusal(`Amount must be no less than ${MINIMUMS[currency]} ${currency}`, { code: 'amount_too_small' })
  const step = THREE_DECIMALS.includes(currency) ? 10 : ['isk', 'ugx'].includes(currency) ? 100 : 1
  if (amount % step !== 0) throw new Refusal(`Invalid amount: must be divisible by ${step}`, { param: 'amount' })
  return [amount, currency]
}

function textsOf(params: Params, ...path: readonly string[]): Record<string, string> {
  let found: Params | string | undefined = params
  for (const name of path) found = typeof found === 'object' ? found[name] : undefined
  const texts = Object.entries(typeof found === 'object' ? found : {}).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Record<string, string>
}
