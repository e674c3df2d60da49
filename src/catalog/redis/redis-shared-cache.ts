/**
 * The shared cache in Redis: one hash per key with the copy and the lease to read it, and one counter of changes. A copy or a lease is
 * valid under the change number it was made with, so one increment voids all of them. Times are the server's own.
 *
 * All keys carry one hash tag: the scripts need the counter beside the copy, and a catalog is small. Unlike the gate's, these keys expire.
 * Bounded by that, by the length of a text, and by the number of ids the catalog asks for (`catalog.ts`).
 *
 * Copies are JSON. The text may come from another version or from a console, so it is checked against a schema and against its key; a text
 * that does not pass is not known. A version that does not know a term of a sale, such as its line, writes a copy without it: a copy says how
 * much its writer knew, and one that may lack a term is not known either.
 */

import { z } from 'zod'
import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { scriptsIn } from '../../base/redis/script.ts'
import { isId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { LineTerms } from '../../domain/line.ts'
import { CONTACT_FIELDS } from '../../domain/parcel.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Texts } from '../../domain/texts.ts'
import { type CatalogKey, LIST, LISTED_MAX, type Sales, type SharedAnswer, type SharedCache } from '../shared-cache.ts'

type Connection = Pick<RedisConnection, 'run' | 'subscribe' | 'database'>

/** Ten sales of a hundred items with long names in one language fit. A longer text is not shared. */
const TEXT_MAX = 1_000_000
/** Raised with every optional field of a sale or item that a version adds. */
const FORMAT = 2

const id = z.string().refine(isId)
const count = z.int().min(0)
const time = z.number().min(0)
const money = z.object({ amount: count, currency: z.string() })
const named = z.object({ name: z.string() })

/** A language that only a newer version speaks is left out. */
const texts: z.ZodType<Texts> = z.object({ en: named.optional(), zh: named.optional() })

const item: z.ZodType<Item> = z
  .object({
    id,
    sale: id,
    sku: z.string().optional(),
    name: z.string(),
    image: z.string().optional(),
    description: z.string().optional(),
    texts: texts.optional(),
    price: money,
    listPrice: money.optional(),
    units: count,
    available: count,
    quantityMax: count,
    attemptsMax: count,
    payWithinMs: count,
    whenGateDown: z.enum(['ledger', 'shut']),
    homeDoor: z.enum(['gate', 'ledger']),
    shards: count,
    door: z.enum(['gate', 'draining', 'ledger', 'shut']),
    epoch: count,
    gateEpoch: count,
    gateShards: count,
    changeNo: count,
  })
  // JSON leaves undefined fields out.
  .transform(({ sku, image, description, texts, listPrice, ...rest }) => ({
    ...rest,
    sku,
    image,
    description,
    texts,
    listPrice,
  }))

const line: z.ZodType<LineTerms> = z.object({
  opensAtMs: time,
  order: z.enum(['arrival', 'draw']),
  rate: z.union([z.literal('auto'), z.number()]),
  sealsAtMs: time.optional(),
  claimWithinMs: time,
  beacon: z.object({ source: z.string(), round: z.number().optional() }).optional(),
  claim: z.string().optional(),
})

const sale: z.ZodType<Sale> = z
  .object({
    id,
    name: z.string(),
    opensAtMs: time,
    closesAtMs: time,
    warmBeforeMs: time,
    // Drafts are not published.
    state: z.enum(['ready', 'paused', 'over']),
    // Older versions do not write it.
    stateNo: count.default(0),
    rule: z.enum(['first_come', 'draw']),
    ticketsBeforeMs: time.optional(),
    challenge: z.union([z.literal('auto'), z.number()]).optional(),
    paymentProviders: z.array(z.string()).optional(),
    holds: z
      .object({
        perBuyer: count.optional(),
        perPrefix: count.optional(),
        perClaim: z.record(z.string(), count).optional(),
        unpaidCountsMs: time.optional(),
        attemptsUnpaid: count.optional(),
        payAgainMs: time.optional(),
      })
      .optional(),
    line: line.optional(),
    contactFields: z.array(z.enum(CONTACT_FIELDS)).optional(),
    unlisted: z.literal(true).optional(),
    texts: texts.optional(),
    items: z.array(item).min(1),
    // Versions before lines and holds do not write it.
    format: z.int().min(FORMAT),
  })
  // JSON leaves undefined fields out.
  .transform(
    ({
      format: _,
      ticketsBeforeMs,
      challenge,
      paymentProviders,
      holds,
      line,
      contactFields,
      unlisted,
      texts,
      ...rest
    }) => ({
      ...rest,
      ticketsBeforeMs,
      challenge,
      paymentProviders,
      holds,
      line,
      contactFields,
      unlisted,
      texts,
    }),
  )

const sales = z.array(sale).max(LISTED_MAX)

/** The statuses of `ask.lua`. */
const [KNOWN, LEASED, WAIT] = [0, 1, 2]

export function createRedisSharedCache(connection: Connection, random: Random): SharedCache {
  const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
  const scripts = {
    ask: readScript('ask', 'grows'),
    put: readScript('put', 'grows'),
    /** Without a text it only deletes, which a full server allows. */
    giveBack: readScript('put', 'always'),
    forgetAll: readScript('forget-all', 'always'),
  }
  const name = `stampede:${connection.database}:catalog`
  const changesKey = `{${name}}:changes`
  const keyOf = (key: CatalogKey) => `{${name}}:${key === LIST ? key : `sale:${key}`}`

  async function endLease(key: CatalogKey, lease: string, text = '', freshMs = 0, keepMs = 0): Promise<void> {
    const times = [Math.floor(freshMs), Math.floor(keepMs)]
    const script = text === '' ? scripts.giveBack : scripts.put
    await connection.run(script, [keyOf(key), changesKey], [lease, text, ...times])
  }

  return {
    async ask(key, leaseMs): Promise<SharedAnswer> {
      const lease = Buffer.from(random.bytes(12)).toString('base64url')
      const reply = await connection.run(scripts.ask, [keyOf(key), changesKey], [lease, leaseMs])
      assert(Array.isArray(reply), 'ask.lua did not answer with a list')
      const [status, ageMs, text] = reply
      const sales = typeof text === 'string' && text !== '' ? parseSales(key, text) : undefined
      if (Number(status) === LEASED) return { kind: 'leased', lease, old: sales }
      if (Number(status) === WAIT) return { kind: 'wait', old: sales }
      assert(Number(status) === KNOWN, `ask.lua answered with the unknown status ${String(status)}`)
      if (sales === undefined) return { kind: 'unreadable', old: undefined }
      return { kind: 'known', sales, ageMs: Number(ageMs) }
    },
    put(key, lease, sales, freshMs, keepMs) {
      const text = JSON.stringify(sales.map(one => ({ ...one, format: FORMAT })))
      return text.length > TEXT_MAX ? endLease(key, lease) : endLease(key, lease, text, freshMs, keepMs)
    },
    returnLease: (key, lease) => endLease(key, lease),
    async forgetAll() {
      await connection.run(scripts.forgetAll, [changesKey], [name])
    },
    onForgotten(listener) {
      // Messages published before the subscription was active were missed too.
      void connection.subscribe(name, listener, listener).then(listener)
    },
  }
}

/** Undefined: not what belongs under this key. */
function parseSales(key: CatalogKey, text: string): Sales | undefined {
  if (text.length > TEXT_MAX) return undefined
  try {
    const { data } = sales.safeParse(JSON.parse(text))
    if (data === undefined || key === LIST) return data
    return data.length <= 1 && data.every(one => one.id === key) ? data : undefined
  } catch {
    return undefined
  }
}
