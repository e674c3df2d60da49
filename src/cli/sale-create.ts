/**
 * `stampede sale create`: a draft from flags (one item), from a file with the body of `POST /api/admin/sales`, or both: what is said by
 * flags wins over the file. Judged by the server, not here: there is one place that knows what a sale may be.
 */

import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { ConfigError } from '../app/config.ts'
import type { OperatorSaleAnswer, TimeAnswer } from '../wire/answers.ts'
import type { SaleInput } from '../wire/inputs.ts'
import { type Client, connectTo, type ServerOptions, withServer } from './client.ts'
import { parseMoment } from './moment.ts'
import { wholeNumber } from './number.ts'
import { printSale } from './sale-view.ts'

interface CreateOptions extends ServerOptions {
  readonly file?: string
  readonly name?: string
  readonly opensAt?: string
  readonly closesAt?: string
  readonly warmBefore?: number
  readonly itemName?: string
  readonly sku?: string
  readonly image?: string
  readonly price?: number
  readonly listPrice?: number
  readonly currency?: string
  readonly units?: number
  readonly quantityMax?: number
  readonly attemptsMax?: number
  readonly payWithin?: number
  readonly whenGateDown?: string
  readonly door?: string
  readonly shards?: number
  readonly key?: string
  readonly publish?: boolean
}

/** Flags that describe the one item, and which of them it can't do without. */
const ITEM_FLAGS = {
  itemName: '--item-name',
  sku: '--sku',
  image: '--image',
  price: '--price',
  listPrice: '--list-price',
  currency: '--currency',
  units: '--units',
  quantityMax: '--quantity-max',
  attemptsMax: '--attempts-max',
  payWithin: '--pay-within',
  whenGateDown: '--when-gate-down',
  door: '--door',
  shards: '--shards',
} as const

export function addSaleCreate(sale: Command): void {
  withServer(
    sale
      .command('create')
      .description('make a sale, as a draft')
      .option('--file <sale.json>', 'the whole sale as JSON; "-" reads it from standard input')
      .option('--name <name>', 'name of the sale')
      .option('--opens-at <time>', '2026-11-11T00:00:00Z, now, or +30s, +10m, +2h, +1d')
      .option('--closes-at <time>', 'likewise')
      .option('--warm-before <seconds>', 'when the warm-up begins', wholeNumber('--warm-before'))
      .option('--item-name <name>', 'the item; default: the name of the sale')
      .option('--units <pieces>', 'how many are for sale', wholeNumber('--units'))
      .option('--price <minor units>', '199900 for 1,999.00', wholeNumber('--price'))
      .option('--currency <code>', 'CNY, EUR …')
      .option('--list-price <minor units>', 'what it costs elsewhere', wholeNumber('--list-price'))
      .option('--sku <sku>', "the shop's own number")
      .option('--image <address>', 'a picture')
      .option('--quantity-max <pieces>', 'per order', wholeNumber('--quantity-max'))
      .option('--attempts-max <count>', 'orders per buyer', wholeNumber('--attempts-max'))
      .option('--pay-within <seconds>', 'time to pay', wholeNumber('--pay-within'))
      .option('--when-gate-down <who>', 'who sells while Redis is away: ledger or shut')
      .option('--door <door>', 'gate, or ledger for a small sale without a gate')
      .option('--shards <places>', 'sold from so many places of a Redis Cluster, 1 to 64', wholeNumber('--shards'))
      .option('--key <key>', 'the same key again is the same sale')
      .option('--publish', 'put it on sale at once'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  stampede sale create --name "Kettle" --units 100 --price 19900 --currency EUR --opens-at +1m --closes-at +1h --publish',
    )
    .action(async (options: CreateOptions) => {
      const client = connectTo(options)
      const body = await bodyOf(client, options)
      const headers = options.key === undefined ? {} : { 'idempotency-key': options.key }
      let made = await client.ask<OperatorSaleAnswer>('/api/admin/sales', { method: 'POST', body, headers })
      if (options.publish)
        made = await client.ask<OperatorSaleAnswer>(`/api/admin/sales/${made.id}/publish`, { method: 'POST' })
      await printSale(made, options)
    })
}

async function bodyOf(client: Client, options: CreateOptions): Promise<Record<string, unknown>> {
  const file = options.file === undefined ? undefined : readSale(options.file)
  // One moment for both times, so that they are as far apart as was asked for.
  let asked: Promise<TimeAnswer> | undefined
  const now = async () => {
    asked ??= client.ask<TimeAnswer>('/api/time')
    return (await asked).unixMs
  }
  const { name, opensAt, closesAt, warmBefore } = options
  const body = {
    ...file,
    ...(name !== undefined && { name }),
    ...(opensAt !== undefined && { opensAt: await parseMoment('--opens-at', opensAt, now) }),
    ...(closesAt !== undefined && { closesAt: await parseMoment('--closes-at', closesAt, now) }),
    ...(warmBefore !== undefined && { warmBeforeSeconds: warmBefore }),
  }
  const flags = Object.keys(ITEM_FLAGS).filter(flag => options[flag as keyof typeof ITEM_FLAGS] !== undefined)
  if (file !== undefined) {
    if (flags.length > 0)
      throw new ConfigError(
        `${ITEM_FLAGS[flags[0] as keyof typeof ITEM_FLAGS]}: with --file the items come from the file`,
      )
    return body
  }
  for (const needed of ['name', 'opensAt', 'closesAt', 'units', 'price', 'currency'] as const) {
    const flag = needed.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
    if (options[needed] === undefined) throw new ConfigError(`--${flag} is needed (or --file with the whole sale)`)
  }
  return { ...body, items: [itemOf(options)] }
}

/** What is missing or of the wrong kind is for the server to say. */
function itemOf(options: CreateOptions): Partial<Record<keyof SaleInput['items'][number], unknown>> {
  const { currency, sku, image, quantityMax, attemptsMax, payWithin, listPrice, whenGateDown, door, shards } = options
  return {
    name: options.itemName ?? options.name,
    units: options.units,
    price: { amount: options.price, currency },
    ...(listPrice !== undefined && { listPrice: { amount: listPrice, currency } }),
    ...(sku !== undefined && { sku }),
    ...(image !== undefined && { image }),
    ...(quantityMax !== undefined && { quantityMax }),
    ...(attemptsMax !== undefined && { attemptsMax }),
    ...(payWithin !== undefined && { payWithinSeconds: payWithin }),
    ...(whenGateDown !== undefined && { whenGateDown }),
    ...(door !== undefined && { door }),
    ...(shards !== undefined && { shards }),
  }
}

const STANDARD_INPUT = 0

function readSale(path: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(path === '-' ? STANDARD_INPUT : path, 'utf8')
  } catch (error) {
    throw new ConfigError(`--file: ${path} can't be read: ${error instanceof Error ? error.message : error}`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ConfigError(`--file: ${path} is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError(`--file: ${path} is not a sale: it must hold one JSON object`)
  return value as Record<string, unknown>
}
