/**
 * A sale as typed on the form: one text per field, under the server's field paths (`items.0.price`). Only values that can't be sent are
 * refused here; the server validates the rest.
 */

import { fromDecimal, toDecimal } from '../../../../src/domain/money.ts'
import { fromLocalInput, toLocalInput } from '../../format.ts'
import type { Item, Sale } from '../../shapes.ts'
import { lineFormWords } from '../../words/line-form.ts'
import { words } from '../../words.ts'
import { NO_HOLDS, type TypedHolds, toHolds, typedHoldsOf } from './typed-holds.ts'
import { NO_LINE, type TypedLine, toLine, typedLineOf } from './typed-line.ts'

export interface TypedItem {
  /** For the renderer only. */
  readonly key: number
  /** Of an existing item; empty for a new one. */
  readonly id: string
  readonly name: string
  readonly nameZh: string
  readonly nameEn: string
  readonly sku: string
  readonly image: string
  readonly description: string
  readonly price: string
  readonly listPrice: string
  readonly currency: string
  readonly units: string
  readonly quantityMax: string
  readonly attemptsMax: string
  readonly payWithinSeconds: string
}

export interface TypedSale {
  readonly name: string
  readonly nameZh: string
  readonly nameEn: string
  readonly opensAt: string
  readonly closesAt: string
  readonly warmBeforeSeconds: string
  readonly ticketsBeforeSeconds: string
  /** off, auto, or a difficulty. */
  readonly challenge: string
  /** Names with commas between them; empty: all. */
  readonly paymentProviders: string
  /** Names with commas between them; empty: nothing is asked. */
  readonly contactFields: string
  readonly holds: TypedHolds
  readonly line: TypedLine
  readonly items: readonly TypedItem[]
}

/** Path of a field → what is wrong with it. */
export type Wrongs = Readonly<Record<string, string>>

const HOUR_MS = 3_600_000

let lastKey = 0

export function newItem(currency: string): TypedItem {
  lastKey += 1
  return {
    key: lastKey,
    id: '',
    name: '',
    nameZh: '',
    nameEn: '',
    sku: '',
    image: '',
    description: '',
    price: '',
    listPrice: '',
    currency,
    units: '100',
    quantityMax: '1',
    attemptsMax: '3',
    payWithinSeconds: '900',
  }
}

/** The next full hour that is at least half an hour away. */
export function nextOpeningMs(nowMs: number): number {
  return Math.ceil((nowMs + HOUR_MS / 2) / HOUR_MS) * HOUR_MS
}

export function newSale(nowMs: number): TypedSale {
  const opensAtMs = nextOpeningMs(nowMs)
  return {
    name: '',
    nameZh: '',
    nameEn: '',
    opensAt: toLocalInput(opensAtMs),
    closesAt: toLocalInput(opensAtMs + HOUR_MS),
    warmBeforeSeconds: '1800',
    ticketsBeforeSeconds: '120',
    challenge: 'off',
    paymentProviders: '',
    contactFields: '',
    holds: NO_HOLDS,
    line: NO_LINE,
    items: [newItem('CNY')],
  }
}

export function typedOf(sale: Sale): TypedSale {
  return {
    name: sale.name,
    ...typedNames(sale),
    opensAt: toLocalInput(Date.parse(sale.opensAt)),
    closesAt: toLocalInput(Date.parse(sale.closesAt)),
    warmBeforeSeconds: `${sale.warmBeforeSeconds}`,
    ticketsBeforeSeconds: `${sale.ticketsBeforeSeconds}`,
    challenge: `${sale.challenge}`,
    paymentProviders: sale.paymentProviders?.join(', ') ?? '',
    contactFields: sale.contactFields?.join(',') ?? '',
    holds: typedHoldsOf(sale.holds),
    line: typedLineOf(sale),
    items: sale.items.map(typedItemOf),
  }
}

function typedNames({ texts }: Pick<Item, 'texts'>) {
  return { nameZh: texts?.zh?.name ?? '', nameEn: texts?.en?.name ?? '' }
}

/** Undefined: it has no name in another language. */
function textsOf({ nameZh, nameEn }: Pick<TypedItem, 'nameZh' | 'nameEn'>) {
  const texts = {
    ...(nameEn.trim() !== '' && { en: { name: nameEn } }),
    ...(nameZh.trim() !== '' && { zh: { name: nameZh } }),
  }
  return Object.keys(texts).length === 0 ? undefined : texts
}

function typedItemOf(item: Item): TypedItem {
  return {
    ...newItem(item.price.currency),
    id: item.id,
    name: item.name,
    ...typedNames(item),
    sku: item.sku ?? '',
    image: item.image ?? '',
    description: item.description ?? '',
    price: toDecimal(item.price),
    listPrice: item.listPrice === undefined ? '' : toDecimal(item.listPrice),
    units: `${item.units}`,
    quantityMax: `${item.quantityMax}`,
    attemptsMax: `${item.attemptsMax}`,
    payWithinSeconds: `${item.payWithinSeconds}`,
  }
}

/** The body to send, or the fields that can't be sent. */
export function bodyOf(typed: TypedSale): { readonly body: unknown } | { readonly wrongs: Wrongs } {
  const text = words()
  const wrongs: Record<string, string> = {}
  const whole = (path: string, value: string) => {
    if (/^-?\d{1,15}$/.test(value.trim())) return Number(value)
    wrongs[path] = text.badNumber
    return 0
  }
  const moment = (path: string, value: string) => {
    const at = fromLocalInput(value)
    if (at === undefined) wrongs[path] = text.badTime
    return at ?? ''
  }
  const money = (path: string, value: string, currency: string) => {
    const amount = fromDecimal(value, currency)
    if (amount === undefined) wrongs[path] = text.badPrice
    return { amount: amount ?? 0, currency }
  }
  const label = (path: string, value: string) => {
    if (value.trim() === '') wrongs[path] = text.badName
    return value
  }
  const chosen = typed.paymentProviders.split(/[,，\s]+/).filter(name => name !== '')
  const exists = typed.items.some(item => item.id !== '')
  const holds = toHolds(typed.holds, whole, (path, why) => {
    wrongs[path] = why
  })
  const line = toLine(typed.line, typed.opensAt, {
    whole,
    moment,
    refuse(path) {
      wrongs[path] = lineFormWords().badRate
    },
  })
  const texts = textsOf(typed)
  const body = {
    name: label('name', typed.name),
    ...(texts !== undefined ? { texts } : exists && { texts: null }),
    opensAt: moment('opensAt', typed.opensAt),
    closesAt: moment('closesAt', typed.closesAt),
    warmBeforeSeconds: whole('warmBeforeSeconds', typed.warmBeforeSeconds),
    ticketsBeforeSeconds: whole('ticketsBeforeSeconds', typed.ticketsBeforeSeconds),
    challenge: /^\d+$/.test(typed.challenge) ? Number(typed.challenge) : typed.challenge,
    ...(chosen.length > 0 ? { paymentProviders: chosen } : exists && { paymentProviders: null }),
    ...(typed.contactFields !== ''
      ? { contactFields: typed.contactFields.split(',') }
      : exists && { contactFields: null }),
    ...(line !== undefined ? { line } : exists && { line: null }),
    ...(holds !== undefined ? { holds } : exists && { holds: null }),
    items: typed.items.map((item, i) => {
      const at = (field: string) => `items.${i}.${field}`
      const currency = item.currency.trim()
      // An omitted field keeps its value: an existing item loses a cleared field only by an explicit null.
      const none = item.id === '' ? undefined : null
      return {
        ...(item.id !== '' && { id: item.id }),
        name: label(at('name'), item.name),
        texts: textsOf(item) ?? none,
        sku: item.sku.trim() === '' ? none : item.sku,
        image: item.image.trim() === '' ? none : item.image.trim(),
        description: item.description.trim() === '' ? none : item.description,
        price: money(at('price'), item.price, currency),
        listPrice: item.listPrice.trim() === '' ? none : money(at('listPrice'), item.listPrice, currency),
        units: whole(at('units'), item.units),
        quantityMax: whole(at('quantityMax'), item.quantityMax),
        attemptsMax: whole(at('attemptsMax'), item.attemptsMax),
        payWithinSeconds: whole(at('payWithinSeconds'), item.payWithinSeconds),
      }
    }),
  }
  return Object.keys(wrongs).length === 0 ? { body } : { wrongs }
}

/** The form field of a field of the body: the form has one field for a price's amount. */
export function formFieldOf(field: string): string {
  if (/^items\.\d+\.(price|listPrice)\.currency$/.test(field))
    return field.replace(/(price|listPrice)\.currency$/, 'currency')
  if (field.startsWith('holds.perClaim')) return 'holds.perClaim'
  if (/(^|\.)texts\./.test(field))
    return field.replace(/texts\.(zh|en).*$/, (_, language) => (language === 'zh' ? 'nameZh' : 'nameEn'))
  if (field.startsWith('paymentProviders')) return 'paymentProviders'
  return field.replace(/^(items\.\d+\.(?:price|listPrice))\..*$/, '$1')
}
