/**
 * Requests made up from the API's own description: for every operation, parameters, headers and bodies that fit, nearly fit, or do not fit
 * at all. Ids that answers mention are used again, so that the fuzz gets past the front door. Repeatable by seed.
 */

import fc from 'fast-check'
import type { Json, OpenApi, Operation } from '../../src/edge/docs/openapi.ts'

export interface MadeRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** What the answers so far have told. */
export interface Known {
  readonly ids: string[]
  /** Where something is sold, with tickets for it: what belongs together is rarely found by chance. */
  readonly items: { readonly sale: string; readonly item: string; readonly tickets: string[] }[]
  readonly orders: string[]
  readonly buyers: readonly string[]
  readonly operator: string
  /** Of pay pages. */
  readonly tokens: string[]
}

const STRANGE = [
  '',
  '0',
  '-1',
  'x',
  '__proto__',
  'constructor',
  '9223372036854775807',
  '9223372036854775808',
  '1e9',
  '%00',
  '%2e%2e',
  'null',
  '"',
  "' OR 1=1",
  '💩',
  'a'.repeat(300),
]

export function requestsOf(document: OpenApi, known: Known): fc.Arbitrary<MadeRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      Array<Called>(oftenness(path)).fill({ method: method.toUpperCase(), path, operation }),
    ),
  )
  const resolve = (schema: Json): Json => {
    const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
    return name === undefined ? schema : (document.components.schemas[name] ?? {})
  }
  const one = (values: readonly string[]) => fc.nat().map(n => values[n % Math.max(values.length, 1)] ?? '1')
  const strange = fc.oneof(fc.constantFrom(...STRANGE), fc.string({ maxLength: 40 }))
  const idLike = fc.oneof({ weight: 8, arbitrary: one(known.ids) }, { weight: 1, arbitrary: strange })

  /** Values that fit a schema most of the time. */
  function fitting(given: Json, depth = 0): fc.Arbitrary<unknown> {
    const schema = resolve(given)
    if (depth > 5) return fc.constant(null)
    const options = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
    if (options !== undefined) return fc.oneof(...options.map(option => fitting(option, depth)))
    if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]))
    if ('const' in schema) return fc.constant(schema.const)
    const { minimum = 0, maximum = 1_000_000 } = schema as { minimum?: number; maximum?: number }
    switch (schema.type) {
      case 'object': {
        const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>)
        const required = (schema.required ?? []) as readonly string[]
        const shapes = Object.fromEntries(properties.map(([name, child]) => [name, fitting(child, depth + 1)]))
        return fc.record(shapes, { requiredKeys: [...required] })
      }
      case 'array':
        return fc.array(fitting((schema.items ?? {}) as Json, depth + 1), { minLength: 1, maxLength: 3 })
      case 'integer':
        return fc.oneof(
          fc.integer({ min: minimum, max: Math.min(minimum + 20, maximum) }),
          fc.constantFrom(minimum, maximum),
        )
      case 'number':
        return fc.double()
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        return schema.format === 'date-time'
          ? fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map(date => date.toISOString())
          : String(schema.pattern ?? '').includes('[A-Z]{3}')
            ? fc.constantFrom('CNY', 'EUR', 'cny')
            : fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), idLike)
    }
  }

  const anyBody = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc.string({ maxLength: 200 }),
    fc.string({ unit: 'binary', maxLength: 50 }),
  )

  /** Who may call it, most of the time; then anybody. */
  function bearer(operation: Operation, item: Known['items'][number]): fc.Arbitrary<string> {
    const everybody = ['', known.operator, ...known.buyers, ...item.tickets]
    const [who] = operation.security.flatMap(Object.keys)
    const right =
      who === 'operator' ? [known.operator] : who === 'buyer' ? known.buyers : who === 'ticket' ? item.tickets : ['']
    return fc.oneof(
      { weight: 16, arbitrary: one(right.length > 0 ? right : everybody) },
      { weight: 3, arbitrary: one(everybody) },
      { weight: 1, arbitrary: strange },
    )
  }

  const item = fc.nat().map(n => known.items[n % known.items.length]!)
  return fc.tuple(fc.constantFrom(...operations), item).chain(([{ method, path, operation }, here]) => {
    const schema = (operation.requestBody?.content as Record<string, { schema: Json }> | undefined)?.[
      'application/json'
    ]?.schema
    const good = schema === undefined ? fc.constant(undefined) : fitting(schema).map(value => JSON.stringify(value))
    /** Fits, but for one value that was swapped for something else. */
    const bent = fc
      .tuple(good, fc.jsonValue({ maxDepth: 2 }), fc.nat())
      .map(([text, value, at]) => bend(text, value, at))
    const segments = path.split('/').map(segment => {
      if (!segment.startsWith('{')) return fc.constant(segment)
      const likely = {
        '{sale}': fc.constant(here.sale),
        '{item}': fc.constant(here.item),
        '{id}': one(known.orders),
        '{token}': one(known.tokens),
        '{provider}': fc.constant('sandbox'),
      }[segment]
      return fc
        .oneof(
          { weight: 18, arbitrary: likely ?? idLike },
          { weight: 1, arbitrary: idLike },
          { weight: 1, arbitrary: strange },
        )
        .map(encode)
    })
    const query = operation.parameters
      .filter(parameter => parameter.in === 'query')
      .map(({ name, schema: shape }) =>
        fc
          .option(fc.oneof({ weight: 6, arbitrary: fitting(shape as Json).map(String) }, idLike, strange), { freq: 2 })
          .map(value => (value === null ? '' : `${name}=${encode(value)}`)),
      )
    return fc
      .record({
        segments: fc.tuple(...segments),
        query: fc.tuple(...query),
        authorization: bearer(operation, here),
        key: seldom(fc.constantFrom('k1', 'k2', 'k 3', 'k4')),
        accept: fc.constantFrom('*/*', 'text/html', 'text/csv', 'application/json'),
        body: fc.oneof(
          { weight: 6, arbitrary: good },
          { weight: 3, arbitrary: bent },
          { weight: 1, arbitrary: anyBody },
        ),
        wrong: seldom(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS')),
      })
      .map(made => {
        const asked = made.wrong ?? method
        const search = made.query.filter(Boolean).join('&')
        return {
          method: asked,
          path: made.segments.join('/') + (search === '' ? '' : `?${search}`),
          headers: {
            // Header values are bytes: what is not, no client could send.
            authorization: made.authorization.replace(/[^\x20-\x7e]/g, '?').trim(),
            accept: made.accept,
            ...(made.key !== null && { 'idempotency-key': made.key }),
          },
          body: asked === 'GET' || asked === 'HEAD' || asked === 'OPTIONS' ? undefined : made.body,
        }
      })
  })
}

interface Called {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** What ends a sale is tried now and then, what buyers do all the time: otherwise nothing is ever on sale. */
function oftenness(path: string): number {
  if (/\/(ticket|orders|payment|approve|session)$/.test(path)) return 24
  return /\/(end|pause|openapi\.json|docs|errors)$/.test(path) ? 1 : 6
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 14, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
}

/** A lone dot or two would be taken for directions by whoever sends it. */
function encode(text: string): string {
  const safe = text.toWellFormed()
  return /^%[0-9a-f]{2}/i.test(safe) ? safe : encodeURIComponent(safe).replace(/^\.{1,2}$/, '%252e')
}

function bend(text: string | undefined, value: unknown, at: number): string | undefined {
  if (text === undefined) return undefined
  const leaves: [object, string][] = []
  const root = JSON.parse(text) as unknown
  const walk = (node: unknown) => {
    if (node === null || typeof node !== 'object') return
    for (const key of Object.keys(node)) {
      leaves.push([node, key])
      walk((node as Record<string, unknown>)[key])
    }
  }
  walk(root)
  const leaf = leaves[at % Math.max(leaves.length, 1)]
  if (leaf === undefined) return JSON.stringify(value)
  ;(leaf[0] as Record<string, unknown>)[leaf[1]] = value
  return JSON.stringify(root)
}
