/**
 * A JSON schema as rows for people: each field with its type, whether it must be there, its bounds and its default. Fields inside of fields have
 * dotted names, those of a list's entries `[]`. Everything is read off the schema that checks the requests, so it can't contradict it. Pure.
 */

import type { Json } from './openapi.ts'

export interface FieldRow {
  /** `items[].price.amount` */
  readonly name: string
  readonly type: string
  /** The shape that it is, described elsewhere. */
  readonly shape?: string
  readonly required: boolean
  readonly bounds: string
  readonly byDefault?: unknown
  readonly about: string
}

/** Longer ones say nothing to people. */
const PATTERN_LENGTH_MAX = 48
const FORMATS: Readonly<Record<string, string>> = { 'date-time': 'time (RFC 3339)', uri: 'address' }

/** Of an object, all its fields, also those of objects inside; of anything else one row without a name. */
export function fieldRows(schema: Json): readonly FieldRow[] {
  const inside = rowsInside(schema, '')
  return inside.length > 0 ? inside : [rowOf('', schema, true)]
}

export function rowOf(name: string, schema: Json, required: boolean): FieldRow {
  const { default: byDefault } = schema
  const shape = shapeOf(schema)
  return {
    name,
    type: typeOf(schema),
    ...(shape !== undefined && { shape }),
    required: required && byDefault === undefined,
    bounds: boundsOf(schema),
    ...(byDefault !== undefined && { byDefault }),
    about: typeof schema.description === 'string' ? schema.description : '',
  }
}

function rowsInside(schema: Json, prefix: string): readonly FieldRow[] {
  const { properties, required = [], items, additionalProperties } = schema
  if (isSchema(properties))
    return Object.entries(properties).flatMap(([field, inner]) => {
      const name = prefix === '' ? field : `${prefix}.${field}`
      const row = rowOf(name, inner as Json, (required as readonly string[]).includes(field))
      return [row, ...rowsInside(inner as Json, name)]
    })
  if (isSchema(items)) return rowsInside(items, `${prefix}[]`)
  if (isSchema(additionalProperties)) return [rowOf(`${prefix}.*`, additionalProperties, false)]
  const alternatives = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
  return (alternatives ?? []).flatMap(one => rowsInside(one, prefix))
}

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

function shapeOf(schema: Json): string | undefined {
  const direct = schema.$ref ?? (schema.items as Json | undefined)?.$ref
  return typeof direct === 'string' ? direct.split('/').at(-1) : undefined
}

function typeOf(schema: Json): string {
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? 'object'
  const alternatives = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
  if (alternatives !== undefined) return alternatives.map(typeOf).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map(one => JSON.stringify(one)).join(' or ')
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as Json)}`
  if (schema.type === 'object' && isSchema(schema.additionalProperties))
    return `map to ${typeOf(schema.additionalProperties)}`
  return FORMATS[String(schema.format)] ?? (schema.type === undefined ? 'any' : String(schema.type))
}

function boundsOf(schema: Json): string {
  const alternatives = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined
  if (alternatives !== undefined) return alternatives.map(boundsOf).filter(Boolean).join('; ')
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format } = schema
  return [
    range(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    // A format says it better.
    typeof pattern === 'string' && format === undefined && pattern.length <= PATTERN_LENGTH_MAX ? pattern : '',
  ]
    .filter(Boolean)
    .join(', ')
}

function range(min: unknown, max: unknown, unit: string): string {
  const from = min === -Number.MAX_SAFE_INTEGER ? undefined : min
  if (from === undefined && max === undefined) return ''
  if (max === undefined) return `${from}${unit} at least`
  return from === undefined ? `${max}${unit} at most` : `${from} to ${max}${unit}`
}
