/**
 * Products from a file, as the items of new sales. Every row is checked by the schema that the server checks with, so that all faults are told at once, each
 * with its row, before anything is sent. Prices are as people write them, in the currency's major unit.
 */

import { exponentOf, fromDecimal } from '../../domain/money.ts'
import { itemInput } from '../../wire/inputs.ts'
import { parseCsv } from './csv-rows.ts'

/** One product of the file, by the plain names of its columns. */
interface ProductRow {
  /** `line 4`, `product 2`. */
  readonly at: string
  readonly cells: ReadonlyMap<string, string>
}

export interface ImportedItem {
  readonly at: string
  /** Of the sale that it belongs to; undefined: the one that the command names. */
  readonly sale: string | undefined
  /** A picture beside the file, by its name there: uploaded, where others are named by their address. */
  readonly picture: string | undefined
  readonly item: Readonly<Record<string, unknown>> & { readonly name: string; readonly units: number }
}

interface Imported {
  readonly items: readonly ImportedItem[]
  /** In words, each with its row. */
  readonly faults: readonly string[]
}

/** As they are written in a head line: letters count, blanks, case and signs do not. */
const COLUMNS = {
  name: 'name',
  variant: 'variant',
  namezh: 'name zh',
  variantzh: 'variant zh',
  nameen: 'name en',
  varianten: 'variant en',
  sku: 'sku',
  image: 'image',
  description: 'description',
  price: 'price',
  listprice: 'list price',
  currency: 'currency',
  units: 'units',
  quantitymax: 'quantity max',
  attemptsmax: 'attempts max',
  paywithinseconds: 'pay within seconds',
  sale: 'sale',
} as const
type Column = keyof typeof COLUMNS

const NEEDED: readonly Column[] = ['name', 'price', 'units']
const ROWS_MAX = 10_000

/** Throws an Error in words when the file as a whole can't be read. */
export function readProducts(text: string, isJson: boolean, currency: string | undefined): Imported {
  const rows = isJson ? rowsOfJson(text) : rowsOfCsv(text)
  if (rows.length === 0) throw new Error('there is no product in it')
  if (rows.length > ROWS_MAX) throw new Error(`it has more than ${ROWS_MAX} products`)
  const items: ImportedItem[] = []
  const faults: string[] = []
  const skus = new Map<string, string>()
  for (const row of rows) {
    const read = itemOf(row, currency)
    faults.push(...read.faults)
    const { sku } = read.item
    const key = `${read.sale ?? ''}\n${String(sku)}`
    const before = sku === undefined ? undefined : skus.get(key)
    if (before !== undefined) faults.push(`${row.at}: sku: "${String(sku)}" is the one of ${before}, too`)
    skus.set(key, row.at)
    items.push({ at: row.at, sale: read.sale, picture: read.picture, item: read.item })
  }
  return { items, faults }
}

function rowsOfCsv(text: string): readonly ProductRow[] {
  const [head, ...rows] = parseCsv(text)
  if (head === undefined) return []
  const names = head.cells.map(plainName)
  refuseColumns(names, head.cells)
  return rows.map(({ line, cells }) => {
    if (cells.length > names.length)
      throw new Error(`line ${line}: it has ${cells.length} cells, and the first line has ${names.length}`)
    return { at: `line ${line}`, cells: new Map(cells.map((cell, i) => [names[i] ?? '', cell])) }
  })
}

function rowsOfJson(text: string): readonly ProductRow[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new Error('it must hold a list of products: [{"name": …, "price": …, "units": …}]')
  return list.map((one: unknown, i) => {
    const at = `product ${i + 1}`
    if (typeof one !== 'object' || one === null || Array.isArray(one)) throw new Error(`${at}: it is not an object`)
    const members = Object.entries(one).filter(([, value]) => value !== null)
    for (const [name, value] of members)
      if (typeof value !== 'string' && typeof value !== 'number')
        throw new Error(`${at}: ${name}: it must be a text or a number`)
    refuseColumns(
      members.map(([name]) => plainName(name)),
      members.map(([name]) => name),
      at,
    )
    return { at, cells: new Map(members.map(([name, value]) => [plainName(name), String(value).trim()])) }
  })
}

const plainName = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

function refuseColumns(names: readonly string[], written: readonly string[], at = 'line 1'): void {
  const known = Object.values(COLUMNS).join(', ')
  const unknown = names.findIndex(name => !(name in COLUMNS))
  if (unknown >= 0) throw new Error(`${at}: "${written[unknown]}" is no column; there are ${known}`)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`${at}: "${twice}" is there twice`)
  const missing = NEEDED.find(name => !names.includes(name))
  if (missing !== undefined) throw new Error(`${at}: "${missing}" is missing`)
}

function itemOf({ at, cells }: ProductRow, usual: string | undefined) {
  const faults: string[] = []
  const text = (column: Column) => cells.get(column) || undefined
  const fault = (column: Column, why: string) => void faults.push(`${at}: ${COLUMNS[column]}: ${why}`)
  const currency = (text('currency') ?? usual)?.toUpperCase()
  if (currency === undefined) fault('currency', 'it is missing; name one for all with --currency')
  const amount = (column: Column) => {
    const value = text(column)
    if (value === undefined || currency === undefined) return undefined
    const minor = fromDecimal(value, currency)
    if (minor === undefined)
      fault(column, `"${value}" is no amount in ${currency}; write ${(1999).toFixed(exponentOf(currency))}`)
    return { amount: minor ?? 0, currency }
  }
  const whole = (column: Column) => {
    const value = text(column)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/.test(value)) fault(column, `"${value}" is not a whole number`)
    return Number(value)
  }
  for (const column of NEEDED) if (text(column) === undefined) fault(column, 'it is empty')
  const variant = text('variant')
  const image = text('image')
  const isLocal = image !== undefined && !/^(\/|[a-z][a-z0-9+.-]*:)/i.test(image)
  const withVariant = (name: string, which = variant) => (which === undefined ? name : `${name}, ${which}`)
  const named = (language: 'en' | 'zh') => {
    const name = text(`name${language}`)
    return name === undefined ? undefined : { name: withVariant(name, text(`variant${language}`) ?? variant) }
  }
  const [en, zh] = [named('en'), named('zh')]
  const given = {
    name: withVariant(text('name') ?? ''),
    texts: en === undefined && zh === undefined ? undefined : { en, zh },
    sku: text('sku'),
    image: isLocal ? undefined : image,
    description: text('description'),
    price: amount('price'),
    listPrice: amount('listprice'),
    units: whole('units') ?? 0,
    quantityMax: whole('quantitymax'),
    attemptsMax: whole('attemptsmax'),
    payWithinSeconds: whole('paywithinseconds'),
  }
  // What can't be read is not judged once more.
  const checked = faults.length > 0 ? undefined : itemInput.safeParse(given)
  for (const { path, message } of checked?.error?.issues ?? []) {
    const column = path[0] === 'texts' ? `name${String(path[1])}` : plainName(String(path[0] ?? 'name'))
    faults.push(`${at}: ${COLUMNS[column as Column] ?? column}: ${message}`)
  }
  const item = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as typeof given
  return { item, faults, sale: text('sale'), picture: isLocal ? image : undefined }
}
