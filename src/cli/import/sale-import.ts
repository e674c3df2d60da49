/**
 * `stampede sale import`: a file of products becomes one draft, or a draft for each name in its column `sale`. All of it or nothing: every row is checked
 * before anything is sent, and when the server refuses a draft, those that were made before it are deleted. What was made is a draft: nothing is on sale before
 * it is published.
 */

import { readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { Fault, onFault } from '../../base/fault.ts'
import type { OperatorSaleAnswer, TimeAnswer } from '../../wire/answers.ts'
import { saleInput } from '../../wire/inputs.ts'
import { orUsage, parseMoment } from '../arguments.ts'
import { Client, type ServerOptions, saleAt, withServer } from '../sale/client.ts'
import { print, printJson, table } from '../table.ts'
import { findLocalImages, uploadImages } from './local-images.ts'
import { type ImportedItem, readProducts } from './products.ts'

interface ImportOptions extends ServerOptions {
  readonly name?: string
  readonly opensAt: string
  readonly closesAt: string
  readonly currency?: string
  readonly contactFields?: string
  readonly dryRun?: boolean
}

const FILE_BYTES_MAX = 10_000_000
/** More than a person mends before trying again. */
const FAULTS_SHOWN_MAX = 50

export function addSaleImport(sale: Command): void {
  const command = sale
    .command('import')
    .description('make drafts from a file of products: CSV, or a list in JSON')
    .argument('<file>', 'products.csv or products.json')
    .option('--name <name>', 'of the sale; without it the file has a column "sale"')
    .requiredOption('--opens-at <time>', '2026-11-11T00:00:00Z, now, or +30s, +10m, +2h, +1d')
    .requiredOption('--closes-at <time>', 'likewise')
    .option('--currency <code>', 'of all products without a currency of their own: CNY, EUR …')
    .option('--contact-fields <fields>', 'what buyers say before they pay: some of email,phone,name,address')
    .option('--dry-run', 'only check the file and show what would be made')
  withServer(command)
    .addHelpText(
      'after',
      '\nColumns: name, price, units; and variant, name zh, name en, sku, image, description, list price, currency, quantity max, attempts max, pay within seconds, sale.\n' +
        'Prices as people write them: 19.90. An image is an address, or a file in the folder of this one, which is uploaded. Nothing is made when one row does not fit.\n\n' +
        'Example:\n  stampede sale import products.csv --name "Friday" --currency EUR --opens-at +1d --closes-at +2d',
    )
    .action(importSales)
}

async function importSales(path: string, options: ImportOptions): Promise<void> {
  const client = new Client(options)
  const { items, faults } = orUsage(path, () => readProducts(read(path), /\.json$/i.test(path), options.currency))
  const local = findLocalImages(path, items)
  refuse(path, [...faults, ...local.faults])
  const checked = await bodiesOf(client, items, options)
  refuse(path, checked.flatMap(faultsOf))
  const addresses = options.dryRun ? new Map<string, string>() : await uploadImages(client, local.images)
  const bodies = options.dryRun ? checked : await bodiesOf(client, items.map(withImage), options)
  const made = options.dryRun ? undefined : await createAll(client, bodies)
  if (options.json) return printJson({ sales: made ?? bodies, made: made !== undefined })
  const rows = bodies.map((body, i) => ({ ...body, id: made?.[i]?.id ?? '' }))
  await print(
    table(rows, [
      ...(made === undefined ? [] : [{ title: 'id', of: (row: (typeof rows)[number]) => row.id }]),
      { title: 'name', of: row => row.name },
      { title: 'items', of: row => row.items.length, right: true },
      { title: 'units', of: row => row.items.reduce((sum, { units }) => sum + units, 0), right: true },
      { title: 'opens', of: row => row.opensAt },
    ]),
  )
  if (made !== undefined && local.images.size > 0) await print(`pictures uploaded: ${local.images.size}`)
  await print(made === undefined ? 'nothing was made: --dry-run' : 'drafts: see them on /ops, then publish them')

  function withImage(imported: ImportedItem): ImportedItem {
    const image = imported.picture && addresses.get(imported.picture)
    return image === undefined ? imported : { ...imported, item: { ...imported.item, image } }
  }
}

function read(path: string): string {
  if (statSync(path).size > FILE_BYTES_MAX) throw new Error(`it is larger than ${FILE_BYTES_MAX / 1e6} MB`)
  return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
}

function refuse(path: string, faults: readonly string[]): void {
  if (faults.length === 0) return
  const shown = faults.slice(0, FAULTS_SHOWN_MAX).map(fault => `\n  ${fault}`)
  const more = faults.length > shown.length ? `\n  and ${faults.length - shown.length} more` : ''
  throw new Fault('import_refused', `${path} does not fit, and nothing was made:${shown.join('')}${more}`)
}

async function bodiesOf(client: Client, items: readonly ImportedItem[], options: ImportOptions) {
  // Without an address in the options no server is asked for the time.
  let asked: Promise<TimeAnswer> | undefined
  const now = async () => {
    asked ??= client.ask<TimeAnswer>('/api/time')
    return (await asked).unixMs
  }
  const opensAt = await parseMoment('--opens-at', options.opensAt, now)
  const closesAt = await parseMoment('--closes-at', options.closesAt, now)
  const contactFields = options.contactFields?.split(',').map(field => field.trim())
  const bySale = Map.groupBy(items, ({ sale }) => sale ?? options.name)
  if (bySale.has(undefined))
    throw new ConfigError('--name is needed: the file has products without a sale of their own')
  return [...bySale].map(([name = '', ofSale]) => ({
    name,
    opensAt,
    closesAt,
    ...(contactFields !== undefined && { contactFields }),
    items: ofSale.map(({ item }) => item),
  }))
}

type Body = Awaited<ReturnType<typeof bodiesOf>>[number]

/** Of the sale as a whole. */
function faultsOf(body: Body): readonly string[] {
  const { error } = saleInput.safeParse(body)
  return (error?.issues ?? []).map(
    ({ path, message }) => `sale "${body.name}": ${path.join('.') || 'the sale'}: ${message}`,
  )
}

async function createAll(client: Client, bodies: readonly Body[]): Promise<readonly OperatorSaleAnswer[]> {
  const made: OperatorSaleAnswer[] = []
  try {
    for (const body of bodies) made.push(await client.ask('/api/admin/sales', { method: 'POST', body }))
    return made
  } catch (error) {
    for (const { id } of made) await onFault(() => client.ask(saleAt(id), { method: 'DELETE' }))
    throw error
  }
}
