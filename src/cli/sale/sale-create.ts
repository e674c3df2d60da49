/**
 * `stampede sale create`: a draft from flags (one item), from a file with the body of `POST /api/admin/sales`, or both: flags win over the
 * file. The server alone checks what a sale may be.
 */

import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import type { OperatorSaleAnswer, TimeAnswer } from '../../wire/answers.ts'
import type { SaleInput } from '../../wire/inputs.ts'
import { orUsage, parseMoment, wholeNumber } from '../arguments.ts'
import { Client, type ServerOptions, saleAt, withServer } from './client.ts'
import { lineOf, OF_LINE } from './sale-line.ts'
import { printSale } from './sale-view.ts'

type Texts = Partial<Record<'file' | 'name' | 'opensAt' | 'closesAt' | 'challenge' | 'contactFields' | 'key', string>>
/** What describes the item is for the server to check. */
type CreateOptions = Readonly<
  ServerOptions & Texts & { warmBefore?: number; ticketsBefore?: number; publish?: boolean } & Record<string, unknown>
>

/** The options, as the help shows them: name, argument, description. An argument of `NUMBERS` is a whole number. */
const OF_SALE = [
  ['file', 'sale.json', 'the whole sale as JSON; "-" reads it from standard input'],
  ['name', 'name', 'name of the sale'],
  ['nameZh', 'name', 'its name for buyers whose page is in Chinese'],
  ['nameEn', 'name', 'likewise in English'],
  ['opensAt', 'time', '2026-11-11T00:00:00Z, now, or +30s, +10m, +2h, +1d'],
  ['closesAt', 'time', 'likewise'],
  ['warmBefore', 'seconds', 'how long before the opening the warm-up begins'],
  ['ticketsBefore', 'seconds', 'how long before the opening tickets are given out'],
  ['holdsPerBuyer', 'count', 'units that one buyer may hold unpaid'],
  ['holdsPerPrefix', 'count', 'units that one /24 or /48 may hold unpaid'],
  ['contactFields', 'fields', 'what buyers say before they pay: some of email,phone,name,address'],
  ['challenge', 'difficulty', 'a proof of work before the ticket: off, auto, or a number from 1 up'],
] as const
/** Those that describe the one item. */
const OF_ITEM = [
  ['itemName', 'name', 'the item; default: the name of the sale'],
  ['itemNameZh', 'name', 'its name in Chinese; default: that of the sale'],
  ['itemNameEn', 'name', 'likewise in English'],
  ['units', 'count', 'units for sale'],
  ['price', 'minor units', '199900 for 1,999.00 CNY, 1999 for 1,999 JPY, 1999000 for 1,999.000 KWD'],
  ['currency', 'code', 'CNY, EUR …'],
  ['listPrice', 'minor units', 'the usual price'],
  ['sku', 'sku', "the shop's own number"],
  ['image', 'address', 'a picture'],
  ['quantityMax', 'count', 'units per order'],
  ['attemptsMax', 'count', 'orders per buyer'],
  ['payWithin', 'seconds', 'time to pay'],
  ['whenGateDown', 'who', 'what happens while Redis is away: the ledger sells, or the item is shut'],
  ['door', 'door', 'who sells normally: gate, or ledger for a small sale'],
  ['shards', 'count', 'shards of a Redis Cluster that share the units, 1 to 64'],
] as const
const NUMBERS: readonly string[] = ['count', 'minor units', 'seconds']
const NEEDED = ['name', 'opensAt', 'closesAt', 'units', 'price', 'currency'] as const

export function addSaleCreate(sale: Command): void {
  const command = sale.command('create').description('make a sale, as a draft')
  for (const [name, argument, description] of [...OF_SALE, ...OF_LINE, ...OF_ITEM]) {
    const [flag, flags] = [flagOf(name), `${flagOf(name)} <${argument}>`]
    if (NUMBERS.includes(argument)) command.option(flags, description, wholeNumber(flag))
    else command.option(flags, description)
  }
  command.option('--key <key>', 'the same key again makes no second sale')
  command.option('--publish', 'publish it at once')
  withServer(command)
    .addHelpText(
      'after',
      '\nExample:\n  stampede sale create --name "Kettle" --units 100 --price 19900 --currency EUR --opens-at +1m --closes-at +1h --publish',
    )
    .action(create)
}

async function create(options: CreateOptions): Promise<void> {
  const client = new Client(options)
  const body = await bodyOf(client, options)
  const headers = options.key === undefined ? {} : { 'idempotency-key': options.key }
  let made = await client.ask<OperatorSaleAnswer>('/api/admin/sales', { method: 'POST', body, headers })
  if (options.publish) made = await client.ask<OperatorSaleAnswer>(`${saleAt(made.id)}/publish`, { method: 'POST' })
  await printSale(made, options)
}

async function bodyOf(client: Client, options: CreateOptions): Promise<Record<string, unknown>> {
  const file = options.file === undefined ? undefined : readSale(options.file)
  // Both times are counted from the same moment, so that they are as far apart as was asked for.
  let asked: Promise<TimeAnswer> | undefined
  const now = async () => {
    asked ??= client.ask<TimeAnswer>('/api/time')
    return (await asked).unixMs
  }
  const {
    name,
    opensAt,
    closesAt,
    warmBefore,
    ticketsBefore,
    challenge,
    contactFields,
    holdsPerBuyer,
    holdsPerPrefix,
  } = options
  const holds = {
    ...(holdsPerBuyer !== undefined && { perBuyer: holdsPerBuyer }),
    ...(holdsPerPrefix !== undefined && { perPrefix: holdsPerPrefix }),
  }
  const opens = opensAt === undefined ? undefined : await parseMoment('--opens-at', opensAt, now)
  const line = await lineOf(options, file?.line, opens ?? file?.opensAt, (flag, text) => parseMoment(flag, text, now))
  const texts = textsOf(options.nameEn, options.nameZh)
  const body = {
    ...file,
    ...(name !== undefined && { name }),
    ...(texts !== undefined && { texts: { ...(file?.texts as object | undefined), ...texts } }),
    ...(opens !== undefined && { opensAt: opens }),
    ...(closesAt !== undefined && { closesAt: await parseMoment('--closes-at', closesAt, now) }),
    ...(warmBefore !== undefined && { warmBeforeSeconds: warmBefore }),
    ...(ticketsBefore !== undefined && { ticketsBeforeSeconds: ticketsBefore }),
    ...(challenge !== undefined && { challenge: /^\d+$/.test(challenge) ? Number(challenge) : challenge }),
    ...(contactFields !== undefined && { contactFields: contactFields.split(',').map(one => one.trim()) }),
    ...(line !== undefined && { line }),
    ...(Object.keys(holds).length > 0 && { holds: { ...(file?.holds as object | undefined), ...holds } }),
  }
  if (file === undefined) {
    const missing = NEEDED.find(option => options[option] === undefined)
    if (missing === undefined) return { ...body, items: [itemOf(options)] }
    throw new ConfigError(`${flagOf(missing)} is needed (or --file with the whole sale)`)
  }
  const refused = OF_ITEM.find(([option]) => options[option] !== undefined)
  if (refused !== undefined) throw new ConfigError(`${flagOf(refused[0])}: with --file the items come from the file`)
  return body
}

function flagOf(option: string): string {
  return `--${option.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

/** Of the languages that are named. */
function textsOf(en: unknown, zh: unknown): Record<string, unknown> | undefined {
  const named = { ...(en !== undefined && { en: { name: en } }), ...(zh !== undefined && { zh: { name: zh } }) }
  return Object.keys(named).length === 0 ? undefined : named
}

/** Members that are undefined are not sent; what is missing or wrong is for the server to say. */
function itemOf(options: CreateOptions): Partial<Record<keyof SaleInput['items'][number], unknown>> {
  const { name, itemName, price, currency, listPrice, payWithin } = options
  const { units, sku, image, quantityMax, attemptsMax, whenGateDown, door, shards } = options
  const asGiven = { units, sku, image, quantityMax, attemptsMax, whenGateDown, door, shards }
  return {
    ...asGiven,
    name: itemName ?? name,
    texts: textsOf(options.itemNameEn ?? options.nameEn, options.itemNameZh ?? options.nameZh),
    price: { amount: price, currency },
    listPrice: listPrice === undefined ? undefined : { amount: listPrice, currency },
    payWithinSeconds: payWithin,
  }
}

const STANDARD_INPUT = 0

function readSale(path: string): Record<string, unknown> {
  const text = orUsage(`--file: ${path} can't be read`, () =>
    readFileSync(path === '-' ? STANDARD_INPUT : path, 'utf8'),
  )
  const value = orUsage(`--file: ${path} is not JSON`, (): unknown => JSON.parse(text))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError(`--file: ${path} is not a sale: it must hold one JSON object`)
  return value as Record<string, unknown>
}
