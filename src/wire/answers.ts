/**
 * The bodies of the API's answers, as schemas and as types. The server's converters (`edge/answers.ts`) are typed by them, the API's
 * description is made from them, clients read by them, and the tests hold every answer against them. Pages import the types only: zod
 * stays out of their bundle.
 */

import { z } from 'zod'
import { QUANTITY_MAX, SHARDS_MAX } from '../domain/item.ts'
import { CONTACT_FIELDS } from '../domain/parcel.ts'
import { SHOWN_PAYMENT_STATES } from '../domain/payment.ts'
import { holdsInput } from './inputs.ts'
import { saleLineAnswer } from './line/line-shapes.ts'
import { FUNNEL_STEPS, type FunnelStep, TROUBLE_CODES } from './monitor-codes.ts'
import { parcelShape } from './orders/parcel-shapes.ts'
import { itemWords, textsAnswer } from './sale-texts.ts'

export const plainId = z.string().regex(/^[1-9][0-9]{0,18}$/)
const id = plainId.meta({
  id: 'Id',
  description: 'A 64-bit number, always as a string.',
  examples: ['4711001337000001'],
})
export const plainTime = z.iso.datetime({ precision: 3 })
const time = plainTime.meta({
  id: 'Time',
  description: 'RFC 3339 in UTC with milliseconds.',
  examples: ['2026-11-11T00:00:00.000Z'],
})
const count = z.int().min(0)

/** A body that the API's description shows under its own name. */
function named<Shape extends z.ZodRawShape>(id: string, shape: Shape, description?: string) {
  return z.object(shape).meta({ id, ...(description !== undefined && { description }) })
}

export const moneyAnswer = z.object({ amount: count, currency: z.string().regex(/^[A-Z]{3}$/) }).meta({
  id: 'Money',
  description: 'In minor units, by the exponent of ISO 4217: 199900 is 1,999.00 CNY, 199,900 JPY or 199.900 KWD.',
  examples: [{ amount: 199900, currency: 'CNY' }],
})

const itemAnswer = named('Item', {
  id,
  sku: z.string().optional(),
  name: z.string(),
  image: z.string().optional(),
  ...itemWords,
  price: moneyAnswer,
  listPrice: moneyAnswer.optional(),
  units: count.describe('Put on sale.'),
  left: count.describe('Units that can still be ordered.'),
  mayReturn: z
    .literal(false)
    .optional()
    .describe(
      'Sold out and every unit is paid for: only a refund or new stock brings one back. Missing: units are left, may return, or it is not known.',
    ),
  quantityMax: z.int().min(1).max(QUANTITY_MAX).describe('Per order.'),
  attemptsMax: z.int().min(1).describe('Orders per buyer, one live at a time.'),
  payWithinSeconds: z.number().min(0),
  shards: z
    .int()
    .min(2)
    .max(SHARDS_MAX)
    .optional()
    .describe('The number of shards its units may be spread over; missing: one.'),
})

const paymentOfferAnswer = named(
  'PaymentOffer',
  {
    provider: z.string(),
    methods: z.array(
      z.object({ name: z.string(), qr: z.boolean().describe('A code is shown that the buyer scans with a phone.') }),
    ),
  },
  'How the sale can be paid. The first method of the first provider is the default.',
)

export const imageAnswer = named('UploadedImage', { image: z.string() })

export const saleAnswer = named('Sale', {
  id,
  name: z.string(),
  texts: textsAnswer,
  opensAt: time,
  closesAt: time,
  state: z.enum(['draft', 'scheduled', 'open', 'paused', 'sold_out', 'over']).describe('Only operators see drafts.'),
  rule: z.enum(['first_come', 'draw']),
  warmBeforeSeconds: z.number().min(0),
  ticketsBeforeSeconds: z.number().min(0).describe('Tickets are given out from so long before the opening.'),
  challenge: z
    .union([z.enum(['off', 'auto']), z.number()])
    .describe('Whether the ticket asks for a proof of work first.'),
  items: z.array(itemAnswer),
  line: saleLineAnswer.optional(),
  listed: z.literal(false).optional().describe('It is in no public list.'),
  contactFields: z
    .array(z.enum(CONTACT_FIELDS))
    .optional()
    .describe('What the buyer must say before paying. Missing: nothing.'),
  payment: z.array(paymentOfferAnswer).optional(),
})

/** With what only operators see. */
const operatorItemAnswer = named('OperatorItem', {
  ...itemAnswer.shape,
  whenGateDown: z
    .enum(['ledger', 'shut'])
    .describe('Who sells the item while Redis is away: the ledger, or nobody (shut).'),
  door: z.enum(['gate', 'ledger']).describe('Who sells the item normally: the gate, or the ledger.'),
})

export const operatorSaleAnswer = named(
  'OperatorSale',
  {
    ...saleAnswer.shape,
    items: z.array(operatorItemAnswer),
    paymentProviders: z.array(z.string()).optional().describe('As chosen; without it: all that take its currency.'),
    holds: holdsInput.optional(),
    template: z.literal(true).optional().describe('A draft that is kept to be copied: it can not be published.'),
  },
  'A sale as operators see it.',
)

const orderPaymentAnswer = named(
  'OrderPayment',
  {
    provider: z.string(),
    method: z.string().optional(),
    state: z
      .enum(SHOWN_PAYMENT_STATES)
      .describe('`declined`: the last try failed. `expired`: it ended without money. Both: the buyer can start again.'),
    qr: z.string().optional().describe('The text of a code that can be scanned now.'),
  },
  'The payment that has paid the order, else the newest.',
)

export const orderAnswer = named('Order', {
  id,
  sale: id,
  item: id,
  buyer: z.string(),
  attempt: z.int().min(0),
  quantity: z.int().min(1),
  amount: moneyAnswer,
  state: z.enum(['reserved', 'pending', 'paid', 'closed']),
  reason: z.enum(['unpaid', 'cancelled', 'refused', 'refunded']).optional(),
  supersededBy: id.optional(),
  reservedAt: time,
  placedAt: time.optional(),
  payBy: time.optional(),
  paidAt: time.optional(),
  closedAt: time.optional(),
  payment: orderPaymentAnswer.optional(),
})

const refundAnswer = z
  .object({
    id: z.string(),
    amount: moneyAnswer,
    state: z.enum(['due', 'refunded']),
    reason: z.string().optional(),
    by: z.string(),
    askedAt: time,
    refundedAt: time.optional(),
  })
  .describe('A part that goes back to the buyer. The whole, or what parts have left of it, is the payment’s own state.')

const paymentAnswer = named('Payment', {
  id: z.string(),
  provider: z.string(),
  ref: z.string(),
  amount: moneyAnswer,
  state: z.enum(['started', 'captured', 'void', 'refund_due', 'refunded']),
  why: z.string().optional(),
  method: z.string().optional(),
  handle: z.string().optional().describe("The provider's own id."),
  ended: z.enum(['declined', 'expired', 'cancelled']).optional().describe('Why it is void.'),
  declinedAt: time.optional().describe('When the last try failed.'),
  startedAt: time,
  capturedAt: time.optional(),
  refundedAt: time.optional(),
  refunds: z.array(refundAnswer).optional(),
})

const eventAnswer = z.object({
  at: time,
  what: z.string(),
  by: z.string().optional(),
  amount: moneyAnswer.optional(),
  reason: z.string().optional(),
})

export const wholeOrderAnswer = named(
  'WholeOrder',
  { ...orderAnswer.shape, ...parcelShape, payments: z.array(paymentAnswer), history: z.array(eventAnswer) },
  'An order with its payments and its history, oldest first.',
)

const next = id.nullable().describe('The cursor for `after`; null at the end.')
export const salesAnswer = z.object({ sales: z.array(saleAnswer) })
export const operatorSalesAnswer = z.object({ sales: z.array(operatorSaleAnswer) })
export const ordersAnswer = z.object({ orders: z.array(orderAnswer), next })

export const ticketAnswer = named('Ticket', {
  ticket: z.string(),
  attempt: z.int().min(1),
  notBefore: time,
  expiresAt: time,
})

export const timeAnswer = z.object({ now: time, unixMs: z.int() })
export const sessionAnswer = z.object({ token: z.string(), buyer: z.string() })
export const whoAnswer = z.object({
  buyer: z.string().nullable(),
  guests: z.boolean(),
  signInUrl: z
    .string()
    .optional()
    .describe('Where buyers sign in at the shop; `{return}` stands for the address to come back to.'),
})
export const paymentStartedAnswer = named('PaymentStarted', {
  payment: z.string(),
  provider: z.string(),
  method: z.string(),
  payUrl: z
    .string()
    .describe('Where the buyer pays. Of some methods an address that only the app of the provider opens.'),
  qr: z.string().optional().describe('The text of a code that the buyer scans with a phone.'),
  client: z
    .record(z.string(), z.string())
    .optional()
    .describe("For a form of the shop's own, or the script inside the provider's app: what it asks for."),
})

const auditAnswer = named(
  'ItemAudit',
  {
    item: id,
    units: count,
    available: z.int(),
    pending: count,
    paid: count,
    closed: count,
    gate: z
      .object({ left: z.int(), held: count })
      .nullable()
      .describe('Null while the item is not loaded in the gate.'),
    outbox: count,
    releases: count,
    moving: count.describe('Units taken from one shard and not yet given to another: counted in neither.'),
    door: z.enum(['gate', 'draining', 'ledger', 'shut']),
    epoch: count,
    consistent: z.boolean(),
    violations: z.array(z.object({ promise: z.int(), message: z.string(), ids: z.array(z.string()) })),
  },
  'Units by state, read together.',
)
export const auditsAnswer = z.object({ items: z.array(auditAnswer) })

const finding = z.looseObject({ kind: z.string() })
const report = { differences: z.array(finding), repairs: z.array(finding) }
export const reportAnswer = z.object(report)
export const reportsAnswer = z.object({
  results: z.array(z.looseObject({ item: id, revenue: moneyAnswer })),
  reports: z.array(z.looseObject({ at: time, final: z.boolean(), ...report })),
})

export const stockChangeAnswer = named('StockChange', {
  no: z.int().min(1),
  delta: z.int(),
  taken: z.int(),
  shortfall: count.describe('How many units of a decrease could not be taken because they are sold.'),
  reason: z.string(),
  by: z.string(),
  at: time,
})

const logLineAnswer = named('LogLine', {
  id,
  at: time,
  by: z.string(),
  action: z.string(),
  sale: id.optional(),
  item: id.optional(),
  order: id.optional(),
  details: z.unknown(),
})
export const logAnswer = z.object({ log: z.array(logLineAnswer), next })

export const liveAnswer = z.object({ status: z.literal('alive') })
export const readyAnswer = z.object({ status: z.enum(['ready', 'unready']), missing: z.array(z.string()) })
export const sandboxAnswer = z.object({ state: z.enum(['open', 'captured', 'void', 'refunded']) })
export const sandboxHiddenAnswer = z.object({ hiddenMs: count })

export const problemAnswer = named(
  'Problem',
  {
    type: z.string().regex(/^\/docs\/errors#[a-z_]+$/),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    field: z.string().optional().describe('The field that does not fit; empty: the body or query as a whole.'),
    left: count.optional(),
    opensAt: time.optional(),
    quantityMax: z.int().min(1).optional(),
    requestId: z.string().optional(),
    refundable: moneyAnswer.optional().describe('What can still be refunded.'),
    state: z.string().optional(),
    missing: z.array(z.enum(CONTACT_FIELDS)).optional().describe('What the buyer still has to say.'),
  },
  'RFC 9457. `code` is stable; the texts are for people.',
)

export const demoAnswer = named('Demo', {
  crowd: z
    .enum(['off', 'offered', 'running', 'done'])
    .describe('`off`: there is no demo sale here, or guests can not sign in.'),
  sale: plainId.optional().describe('The demo sale; absent when off.'),
  buyers: z.int().min(1).describe('How many simulated buyers one request starts.'),
})

const funnelCounts = Object.fromEntries(FUNNEL_STEPS.map(step => [step, count])) as Record<FunnelStep, typeof count>

const troubleAnswer = named('Trouble', {
  code: z.enum(TROUBLE_CODES),
  since: plainTime,
  which: z.string().optional().describe("A promise's number, an alarm's name."),
  sale: plainId.optional(),
  item: plainId.optional(),
  count: count.optional(),
  words: z.string().optional().describe('What the check found.'),
})

export const watchAnswer = named('Watch', {
  at: plainTime,
  sale: operatorSaleAnswer,
  audit: z.array(auditAnswer).nullable().describe('As GET …/audit gives it; null while the ledger is away.'),
  items: z.array(
    z.object({
      item: plainId,
      line: count.describe('Asks waiting before the gate.'),
      unsettled: count.describe('Reservations the ledger has not confirmed yet.'),
      selling: z.enum(['selling', 'withdrawn', 'shut', 'skewed', 'away']),
    }),
  ),
  funnel: z
    .object({ since: plainTime, ...funnelCounts })
    .describe(
      'Of this sale, over all processes, since the first request. Other processes’ requests are up to a second old. `reserved` is the orders, placed or refused, and the units that are not placed yet.',
    ),
  recent: z
    .array(
      z.object({
        at: plainTime,
        requestsPerSecond: z.number().min(0),
        p50Ms: z.number().nullable(),
        p99Ms: z.number().nullable(),
        line: count,
      }),
    )
    .describe('One sample a second, at most five minutes back; of this process, without the requests of operators.'),
  reconciled: z.object({ at: plainTime, differences: count, repairs: count }).nullable(),
  trouble: z.array(troubleAnswer),
})

export const troublesAnswer = z.object({ trouble: z.array(troubleAnswer) })

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T
type Body<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>

export type ItemAnswer = Body<typeof itemAnswer>
export type SaleAnswer = Body<typeof saleAnswer>
export type OperatorItemAnswer = Body<typeof operatorItemAnswer>
export type OperatorSaleAnswer = Body<typeof operatorSaleAnswer>
export type OperatorSalesAnswer = Body<typeof operatorSalesAnswer>
export type SessionAnswer = Body<typeof sessionAnswer>
export type WhoAnswer = Body<typeof whoAnswer>
export type OrderAnswer = Body<typeof orderAnswer>
export type OrdersAnswer = Body<typeof ordersAnswer>
export type PaymentStartedAnswer = Body<typeof paymentStartedAnswer>
export type PaymentAnswer = Body<typeof paymentAnswer>
export type WholeOrderAnswer = Body<typeof wholeOrderAnswer>
export type TimeAnswer = Body<typeof timeAnswer>
export type TicketAnswer = Body<typeof ticketAnswer>
export type AuditAnswer = Body<typeof auditAnswer>
export type AuditsAnswer = Body<typeof auditsAnswer>
export type ReportAnswer = Body<typeof reportAnswer>
export type ReportsAnswer = Body<typeof reportsAnswer>
export type StockChangeAnswer = Body<typeof stockChangeAnswer>
export type LogLineAnswer = Body<typeof logLineAnswer>
export type LogAnswer = Body<typeof logAnswer>
export type DemoAnswer = Body<typeof demoAnswer>
export type TroubleAnswer = Body<typeof troubleAnswer>
export type TroublesAnswer = Body<typeof troublesAnswer>
export type WatchAnswer = Body<typeof watchAnswer>
