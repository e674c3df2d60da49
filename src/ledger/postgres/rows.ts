/** Statements and their answers: how many rows a statement may answer, and rows into domain objects, each column checked as it is read. */

import { assert } from '../../base/assert.ts'
import type { HoldLimits } from '../../domain/hold-limits.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { LineTerms } from '../../domain/line.ts'
import type { CloseReason, Order, OrderState } from '../../domain/order.ts'
import { CONTACT_FIELDS, type ContactField } from '../../domain/parcel.ts'
import { type OrderPayment, type PaymentEnd, type PaymentState, shownState } from '../../domain/payment.ts'
import type { Sale, SaleRule, SaleTerms, StoredSaleState } from '../../domain/sale.ts'
import { LANGUAGES, type Texts } from '../../domain/texts.ts'
import type { Database, Row } from './connection/database.ts'

type Read<T> = (row: Row) => T

/** Runs statements of `ledger/sql`, by the number of rows they answer. */
export function queries(database: Pick<Database, 'run'>) {
  const run = (name: string, values: unknown[]) => database.run(name, values)
  return {
    all: async <T>(name: string, values: unknown[], read: Read<T>): Promise<T[]> => (await run(name, values)).map(read),
    /** Undefined: it answered no row. */
    async first<T>(name: string, values: unknown[], read: Read<T>): Promise<T | undefined> {
      const [row] = await run(name, values)
      return row === undefined ? undefined : read(row)
    },
    /** Of a statement that always answers one row. */
    async one<T>(name: string, values: unknown[], read: Read<T>): Promise<T> {
      const rows = await run(name, values)
      assert(rows.length === 1, `${rows.length} rows instead of one`)
      return read(rows[0]!)
    },
    /** It answers a row if it did something. */
    did: async (name: string, values: unknown[]): Promise<boolean> => (await run(name, values)).length === 1,
    async act(name: string, values: unknown[]): Promise<void> {
      await run(name, values)
    },
  }
}

export function text(row: Row, column: string): string {
  const value = row[column]
  assert(typeof value === 'string', `column ${column} is not text`)
  return value
}

/** 32-bit columns come as numbers, 64-bit ones as text; both must be exact. */
export function number(row: Row, column: string): number {
  const value = Number(row[column])
  assert(row[column] !== null && Number.isSafeInteger(value), `column ${column} is not an exact number`)
  return value
}

/** Undefined where the column is NULL. */
export function optional<T>(row: Row, column: string, read: (row: Row, column: string) => T): T | undefined {
  return row[column] === null ? undefined : read(row, column)
}

type Camel<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

/** Columns of one kind, each under its own name: `gate_epoch` becomes `gateEpoch`. */
export function columns<T, C extends string>(row: Row, read: (row: Row, column: string) => T, ...names: C[]) {
  const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(names.map(name => [camel(name), read(row, name)])) as { [N in C as Camel<N>]: T }
}

/** Times come as unix ms from a column, as RFC 3339 from JSON. */
export function time(row: Row, column: string): number {
  const value = row[column]
  const ms = typeof value === 'string' ? Date.parse(value) : value
  assert(typeof ms === 'number' && Number.isFinite(ms), `column ${column} is not a time`)
  return Math.trunc(ms)
}

export function toOrder(row: Row): Order {
  return {
    id: text(row, 'id'),
    sale: text(row, 'sale'),
    item: text(row, 'item'),
    buyer: text(row, 'buyer'),
    attempt: number(row, 'attempt'),
    quantity: number(row, 'quantity'),
    price: { amount: number(row, 'price_minor'), currency: text(row, 'currency') },
    state: text(row, 'state') as OrderState,
    reason: optional(row, 'reason', text) as CloseReason | undefined,
    supersededBy: optional(row, 'superseded_by', text),
    epoch: number(row, 'epoch'),
    reservedAtMs: time(row, 'reserved_at'),
    placedAtMs: time(row, 'placed_at'),
    payByMs: optional(row, 'pay_by', time),
    paidAtMs: optional(row, 'paid_at', time),
    closedAtMs: optional(row, 'closed_at', time),
    version: number(row, 'version'),
    payment: row.pay_state === undefined || row.pay_state === null ? undefined : toOrderPayment(row),
  }
}

function toOrderPayment(row: Row): OrderPayment {
  const state = shownState({
    state: text(row, 'pay_state') as PaymentState,
    ended: optional(row, 'pay_ended', text) as PaymentEnd | undefined,
    declinedAtMs: optional(row, 'pay_declined_at', time),
  })
  return {
    provider: text(row, 'pay_provider'),
    method: optional(row, 'pay_method', text),
    state,
    qr: state === 'started' ? optional(row, 'pay_qr', text) : undefined,
    no: number(row, 'pay_no'),
  }
}

function toItem(row: Row): Item {
  const currency = text(row, 'currency')
  return {
    ...columns(row, text, 'id', 'name'),
    ...columns(row, number, 'units', 'available', 'quantity_max', 'attempts_max', 'pay_within_ms'),
    ...columns(row, number, 'shards', 'epoch', 'gate_epoch', 'gate_shards', 'change_no'),
    sale: text(row, 'sale_id'),
    sku: optional(row, 'sku', text),
    image: optional(row, 'image', text),
    // Only statements that read one sale or a few have the column.
    description: row.description === undefined ? undefined : optional(row, 'description', text),
    texts: optional(row, 'texts', toTexts),
    price: { amount: number(row, 'price_minor'), currency },
    listPrice: row.list_price_minor === null ? undefined : { amount: number(row, 'list_price_minor'), currency },
    whenGateDown: text(row, 'when_gate_down') as 'ledger' | 'shut',
    homeDoor: text(row, 'home_door') as 'gate' | 'ledger',
    door: text(row, 'door') as Door,
  }
}

/** Rows of one item each, with their sale's columns beside them, grouped by sale in the order they came. */
export function toSales(rows: readonly Row[]): readonly Sale[] {
  const bySale = Map.groupBy(rows, row => text(row, 'sale_id'))
  return [...bySale].map(([id, ofSale]) => toSale(id, ofSale[0]!, ofSale.map(toItem)))
}

function toSale(id: SaleId, row: Row, items: readonly Item[]): Sale {
  return {
    id,
    name: text(row, 'sale_name'),
    opensAtMs: time(row, 'opens_at'),
    closesAtMs: time(row, 'closes_at'),
    warmBeforeMs: number(row, 'warm_before_ms'),
    state: text(row, 'state') as StoredSaleState,
    stateNo: number(row, 'word_no'),
    rule: text(row, 'rule') as SaleRule,
    ...termsOf(row),
    texts: optional(row, 'sale_texts', toTexts),
    items,
  }
}

/** A language that only a newer version speaks is shown there. */
function toTexts(row: Row, column: string): Texts {
  const value = row[column]
  assert(typeof value === 'object' && value !== null, `column ${column} is not an object`)
  const texts = value as Texts
  return Object.fromEntries(LANGUAGES.flatMap(one => (texts[one] === undefined ? [] : [[one, texts[one]]])))
}

/** Members that a newer version has written are left alone. */
function termsOf(row: Row): SaleTerms {
  const { terms } = row
  assert(typeof terms === 'object' && terms !== null, 'column terms is not an object')
  const known = terms as Record<string, unknown>
  const { ticketsBeforeMs, challenge, paymentProviders, holds, line, template, unlisted, contactFields } = known
  assert(ticketsBeforeMs === undefined || typeof ticketsBeforeMs === 'number', 'ticketsBeforeMs is not a number')
  assert(challenge === undefined || challenge === 'auto' || typeof challenge === 'number', 'challenge is no difficulty')
  const isNames = Array.isArray(paymentProviders) && paymentProviders.every(one => typeof one === 'string')
  assert(paymentProviders === undefined || isNames, 'paymentProviders is no list of names')
  assert(holds === undefined || (typeof holds === 'object' && holds !== null), 'holds is not an object')
  assert(line === undefined || (typeof line === 'object' && line !== null), 'line is not an object')
  assert(contactFields === undefined || Array.isArray(contactFields), 'contactFields is not a list')
  return {
    ticketsBeforeMs,
    challenge,
    paymentProviders: paymentProviders as readonly string[] | undefined,
    holds: holds as HoldLimits | undefined,
    line: line as LineTerms | undefined,
    template: template === true ? true : undefined,
    unlisted: unlisted === true ? true : undefined,
    // A field that only a newer version can ask for is asked for there.
    contactFields: (contactFields as ContactField[] | undefined)?.filter(one => CONTACT_FIELDS.includes(one)),
  }
}
