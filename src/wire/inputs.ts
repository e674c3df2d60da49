/** The bodies and queries that the API takes, as schemas. The server checks every request by them; `calls/` describes them to others. */

import { z } from 'zod'
import { CLAIM_NAME, CLAIMS_MAX } from '../domain/hold-limits.ts'
import { isBuyerId, isId } from '../domain/ids.ts'
import {
  ATTEMPTS_MAX,
  DESCRIPTION_LENGTH_MAX,
  DESCRIPTIONS_TOO_LONG,
  fitTogether,
  QUANTITY_MAX,
  SHARDS_MAX,
  UNITS_MAX,
} from '../domain/item.ts'
import { type LineTerms, lineFault } from '../domain/line.ts'
import { AMOUNT_MAX, isPayable, NOT_PAYABLE } from '../domain/money.ts'
import { CONTACT_FIELDS } from '../domain/parcel.ts'
import { CHALLENGE_MAX } from '../domain/sale.ts'
import { lineInputWith } from './line/line-shapes.ts'
import { contactInput, metadataInput } from './orders/parcel-shapes.ts'
import { textsInputWith } from './sale-texts.ts'
import { timeZone } from './time-zone.ts'

const NAME_LENGTH_MAX = 200
const REASON_LENGTH_MAX = 500
const ITEMS_MAX = 100
/** Zero-width and bidi characters: with them a name looks like another, or like nothing. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u
const YEAR_S = 366 * 24 * 3600

/** Text for people: no control characters, nothing that breaks a line in a log. */
export const label = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine(text => !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text), 'must not contain control characters')

export const money = z.strictObject({
  amount: z.int().min(0).max(AMOUNT_MAX),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code like CNY'),
})

export const time = z.iso.datetime({ offset: true }).transform((text, context) => {
  const ms = Date.parse(text)
  if (!Number.isFinite(ms) || ms < 0 || ms > Date.UTC(2200, 0))
    context.addIssue({ code: 'custom', message: 'must lie between 1970 and 2200' })
  return ms
})

const image = label(2000).refine(
  text => /^(https?:\/\/|\/(?!\/))\S+$/i.test(text),
  'must be an http(s) address or a path',
)

/** Plain text with lines. Whatever a file ends its lines with, they end as people's own do. */
const description = z
  .string()
  .transform(text => text.replace(/\r\n?/g, '\n').trim())
  .pipe(
    z
      .string()
      .min(1)
      .max(DESCRIPTION_LENGTH_MAX)
      .refine(
        text => !/[^\P{Cc}\n]|[\p{Cs}\u2028\u2029]/u.test(text),
        'must not contain control characters but line breaks',
      ),
  )
  .describe('Plain text for buyers to read; line breaks are kept, nothing in it is markup.')
const textsInput = textsInputWith(label(NAME_LENGTH_MAX))

export const itemInput = z
  .strictObject({
    name: label(NAME_LENGTH_MAX),
    sku: label(100).optional(),
    image: image.optional(),
    description: description.optional(),
    texts: textsInput.optional(),
    price: money,
    listPrice: money.optional(),
    units: z.int().min(0).max(UNITS_MAX),
    quantityMax: z.int().min(1).max(QUANTITY_MAX).default(1),
    attemptsMax: z.int().min(1).max(ATTEMPTS_MAX).default(3),
    payWithinSeconds: z.int().min(1).max(YEAR_S).default(900),
    whenGateDown: z.enum(['ledger', 'shut']).default('ledger'),
    door: z.enum(['gate', 'ledger']).default('gate'),
    shards: z
      .int()
      .min(1)
      .max(SHARDS_MAX)
      .default(1)
      .describe(
        'Spreads the units over so many shards of the gate, for an item that one Redis can not carry. First come, first served then ' +
          'holds within each shard. Without a cluster, and with fewer than 8 units per shard, one shard is used.',
      ),
  })
  .refine(item => item.listPrice === undefined || item.listPrice.currency === item.price.currency, {
    path: ['listPrice'],
    message: 'must be in the currency of the price',
  })
  .refine(item => isPayable(item.price, item.quantityMax), { path: ['quantityMax'], message: NOT_PAYABLE })
  .refine(item => Number.isSafeInteger(item.price.amount * item.units), {
    path: ['units'],
    message: 'is too many at this price: the value of all units must be an exact number',
  })

const paymentProviders = z
  .array(z.string().min(1).max(32))
  .min(1)
  .max(20)
  .refine(names => new Set(names).size === names.length, 'must not name a provider twice')
  .describe('Names of PAYMENT_PROVIDERS that this sale offers, in this order. Without it: all that take its currency.')

const contactFields = z
  .array(z.enum(CONTACT_FIELDS))
  .min(1)
  .max(CONTACT_FIELDS.length)
  .refine(fields => new Set(fields).size === fields.length, 'must not name a field twice')
  .describe('What buyers must say before they pay, with the order or afterwards. Without it: nothing.')

export const holdsInput = z
  .strictObject({
    perBuyer: z.int().min(1).max(UNITS_MAX).optional().describe('Of one buyer, over all items of the sale.'),
    perPrefix: z.int().min(1).max(UNITS_MAX).optional().describe('Of one /24 of IPv4 or /48 of IPv6.'),
    perClaim: z
      .record(z.string().regex(CLAIM_NAME, 'must be 1 to 24 letters, digits or _'), z.int().min(1).max(UNITS_MAX))
      .refine(claims => Object.keys(claims).length <= CLAIMS_MAX, `must name at most ${CLAIMS_MAX} claims`)
      .optional()
      .describe("By a claim of the shop's token: of all buyers with the same value."),
    unpaidCountsSeconds: z
      .int()
      .min(0)
      .max(YEAR_S)
      .optional()
      .describe(
        'So long an order that ended without payment goes on counting; without it as long as there was to pay.',
      ),
    attemptsUnpaid: z
      .int()
      .min(1)
      .max(ATTEMPTS_MAX)
      .optional()
      .describe('Attempts of a buyer at an item, once an order has ended without payment.'),
    payAgainSeconds: z.int().min(1).max(YEAR_S).optional().describe('The time to pay from the second attempt on.'),
  })
  .describe(
    'How many units may be held without paying: units of unpaid orders that are open, and for a while of orders that ended without payment. Beyond it an ' +
      'order is refused (`hold_limit`).',
  )

const lineInput = lineInputWith(time)

/** In the domain's own units. */
export function toLine({ opensAt, sealsAt, claimWithinSeconds, ...line }: z.output<typeof lineInput>): LineTerms {
  return { ...line, opensAtMs: opensAt, sealsAtMs: sealsAt, claimWithinMs: claimWithinSeconds * 1000 }
}

export const saleInput = z
  .strictObject({
    name: label(NAME_LENGTH_MAX),
    texts: textsInput.optional(),
    opensAt: time,
    closesAt: time,
    rule: z
      .enum(['first_come', 'draw'])
      .default('first_come')
      .describe('`draw` is the same as a line with the order `draw`.'),
    warmBeforeSeconds: z.int().min(0).max(YEAR_S).default(1800),
    ticketsBeforeSeconds: z
      .int()
      .min(0)
      .max(YEAR_S)
      .optional()
      .describe(
        'Tickets are given out from so long before the opening; without it from the warm-up on, and never before that.',
      ),
    challenge: z
      .union([z.enum(['off', 'auto']), z.int().min(1).max(CHALLENGE_MAX)])
      .default('off')
      .describe(
        'A proof of work before the ticket. A number is its difficulty: 1 takes a phone a few tenths of a second, 2 twice as long. `auto` is 1. It ' +
          'rises by itself with the attempts of a buyer and the asks of a network.',
      ),
    paymentProviders: paymentProviders.optional(),
    holds: holdsInput.optional(),
    line: lineInput.optional(),
    contactFields: contactFields.optional(),
    listed: z
      .boolean()
      .default(true)
      .describe('`false`: in no public list, as for a rehearsal. Who has its address sees it and can buy.'),
    items: z.array(itemInput).min(1).max(ITEMS_MAX).refine(fitTogether, DESCRIPTIONS_TOO_LONG),
  })
  .refine(sale => sale.opensAt < sale.closesAt, { path: ['closesAt'], message: 'must be later than opensAt' })
  .refine(sale => sale.rule !== 'draw' || sale.line?.order === 'draw', {
    path: ['line'],
    message: 'must be there with the order "draw", because the rule is "draw"',
  })
  .superRefine(({ opensAt, closesAt, line }, context) => {
    const fault = line && lineFault({ opensAtMs: opensAt, closesAtMs: closesAt }, toLine(line))
    if (fault !== undefined) context.addIssue({ code: 'custom', path: fault.field.split('.'), message: fault.why })
  })

const { shape: saleFields } = saleInput
const { shape: itemFields } = itemInput

/** Nothing is required and nothing has a default: what is missing stays as it is. `null` takes away what an item need not have. */
const itemEdit = z.strictObject({
  id: z.string().refine(isId, 'must be the id of an item').optional(),
  name: itemFields.name.optional(),
  sku: itemFields.sku.unwrap().nullish(),
  image: itemFields.image.unwrap().nullish(),
  description: itemFields.description.unwrap().nullish(),
  texts: textsInput.nullish(),
  price: itemFields.price.optional(),
  listPrice: itemFields.listPrice.unwrap().nullish(),
  units: itemFields.units.optional(),
  quantityMax: itemFields.quantityMax.unwrap().optional(),
  attemptsMax: itemFields.attemptsMax.unwrap().optional(),
  payWithinSeconds: itemFields.payWithinSeconds.unwrap().optional(),
  whenGateDown: itemFields.whenGateDown.unwrap().optional(),
  door: itemFields.door.unwrap().optional(),
  shards: itemFields.shards.unwrap().optional(),
})

export const saleEdit = z.strictObject({
  name: saleFields.name.optional(),
  texts: textsInput.nullish(),
  opensAt: saleFields.opensAt.optional(),
  closesAt: saleFields.closesAt.optional(),
  rule: z.literal('first_come', 'follows from the order of the line').optional(),
  warmBeforeSeconds: saleFields.warmBeforeSeconds.unwrap().optional(),
  ticketsBeforeSeconds: saleFields.ticketsBeforeSeconds.unwrap().nullish(),
  challenge: saleFields.challenge.unwrap().optional(),
  paymentProviders: paymentProviders.nullish(),
  holds: holdsInput.nullish(),
  line: lineInput.nullish(),
  contactFields: contactFields.nullish(),
  listed: saleFields.listed.unwrap().optional(),
  items: z.array(itemEdit).min(1).max(ITEMS_MAX).optional(),
})

export const copyInput = z.strictObject({
  name: label(NAME_LENGTH_MAX).optional().describe('Without it that of the sale.'),
  opensAt: time.optional().describe('Without it the opening of the sale. The times of a line move with it.'),
  closesAt: time.optional().describe('Without it the copy lasts as long as the sale.'),
  template: z
    .boolean()
    .default(false)
    .describe('The copy is a template: a draft that is kept to be copied, and can not be published.'),
})

export const stockInput = z.strictObject({
  delta: z
    .int()
    .min(-UNITS_MAX)
    .max(UNITS_MAX)
    .refine(delta => delta !== 0, 'must not be 0'),
  reason: label(NAME_LENGTH_MAX),
})

export const doorInput = z.strictObject({ door: z.literal('ledger') })

export const refundInput = z.strictObject({
  restock: z.boolean().default(false).describe('Its units are on sale again. With the whole order only.'),
  amount: z
    .strictObject({ amount: z.int().min(1).max(AMOUNT_MAX), currency: money.shape.currency })
    .optional()
    .describe(
      'A part of what was captured, in minor units. All that is left closes the order; missing: all that is left.',
    ),
  reason: label(REASON_LENGTH_MAX).optional().describe('Kept in the log and shown in the order’s history.'),
})

export const paymentInput = z.strictObject({
  provider: z.string().max(32).optional(),
  method: z.string().max(32).optional().describe("One of the provider's; without one, its first."),
  payer: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, 'must have 1 to 128 letters, digits or signs')
    .optional()
    .describe("Who the buyer is at the provider, for methods inside its own app (WeChat's openid). Not stored."),
  returnUrl: z.string().max(2000).optional(),
})

export const sessionInput = z.strictObject({
  buyer: z
    .string()
    .refine(isBuyerId, 'must have 1 to 128 characters, none of them a control character, no blanks around')
    .refine(text => !UNSEEN.test(text), 'must not contain characters that are not seen or turn the text around')
    .optional()
    .meta({
      description:
        'Without one the server makes up a name. Where a shop signs its own buyers in, the buyer that is answered has a prefix.',
      minLength: 1,
      maxLength: 128,
    }),
})

/** What is wrong with a challenge is `challenge_invalid`, not `body_invalid`. */
export const ticketInput = z.looseObject({
  challenge: z
    .unknown()
    .optional()
    .describe(
      'The answer to `challenge_required`: `{"challenge", "solution"}`, the challenge as it came and what the solver found; with a provider `{"token"}`, what its widget gave.',
    ),
})

/** Only the type is checked here: a quantity out of the item's range is `quantity_invalid`. */
export const orderInput = z.strictObject({
  quantity: z.number().default(1).meta({ type: 'integer', minimum: 1, maximum: QUANTITY_MAX }),
  metadata: metadataInput.optional(),
  contact: contactInput
    .optional()
    .describe('In the `contactFields` of the sale. It can also be said later, until the order is paid.'),
})

export const orderEdit = z.strictObject({
  contact: contactInput.describe('Fields that are not named stay as they are.'),
})

const after = z
  .string()
  .refine(text => text === '' || isId(text), 'must be the "next" of an earlier answer')
  .optional()
  .describe('The `next` of the page before.')

/** Pages by cursor: from the beginning, or after what was seen last. */
export function pageQuery(byDefault: number, max: number) {
  return z.object({
    after,
    limit: z
      .string()
      .regex(/^[0-9]{1,6}$/, 'must be a whole number from 1 up')
      .transform(Number)
      .refine(limit => limit >= 1, 'must be a whole number from 1 up')
      .transform(limit => Math.min(limit, max))
      .default(byDefault)
      .meta({ type: 'integer', minimum: 1, maximum: max, pattern: undefined, default: byDefault }),
  })
}

export const ordersQuery = pageQuery(100, 1000).extend({
  state: z
    .enum(['reserved', 'pending', 'paid', 'closed'])
    .optional()
    .describe('`reserved`: acknowledged by the edge that is asked, and not placed yet.'),
  buyer: z.string().refine(isBuyerId, 'is not a buyer id').optional(),
  layout: z
    .enum(['raw', 'people'])
    .default('raw')
    .describe(
      'Of CSV. `people`: for a spreadsheet: names and SKUs of items, amounts in major units, times in `zone`, what buyers said about the parcel; ids stay texts.',
    ),
  zone: timeZone.default('UTC').describe('Of the times in CSV for people, as in Asia/Shanghai.'),
  language: z.enum(['en', 'zh']).default('en').describe('Of the headings in CSV for people.'),
})

export const orderQuery = z.object({
  payment: z
    .literal('ask')
    .optional()
    .describe(
      'For a buyer who is back from the pay page: the provider is asked first, for a second at most, and not more often than every other second.',
    ),
})

export const watchQuery = z.object({
  after: z.iso
    .datetime()
    .transform(text => Date.parse(text))
    .optional()
    .meta({ type: 'string', format: 'date-time', description: 'Only samples after this `at`.' }),
})

export const signInInput = z.strictObject({ token: z.string().min(1).max(1024) })

/** As a client writes it. */
export type SaleInput = z.input<typeof saleInput>
