/**
 * The API's description as an OpenAPI 3.1 document, made from the calls and from the very schemas that check what comes in and type what
 * goes out. Pure. Does not know which of the calls a server has: it is told.
 */

import { z } from 'zod'
import { problemAnswer } from '../../wire/answers.ts'
import { type Answer, type Call, problemsOf } from '../../wire/call.ts'
import { PROBLEMS, type ProblemCode, problemBody } from '../../wire/problems.ts'

export type Json = { readonly [key: string]: unknown }

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: Json
  readonly servers: readonly Json[]
  readonly tags: readonly Json[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>>; readonly [kind: string]: Json }
}

export interface Operation {
  readonly tags: readonly string[]
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly security: readonly Json[]
  readonly parameters: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Readonly<Record<string, Json>>
}

/** Of the API, not of the program: it changes when a client would have to. */
const API_VERSION = '1.0.0'
const PROBLEM_TYPE = 'application/problem+json'
const SECURITY: Readonly<Record<Call['who'], readonly Json[]>> = {
  anyone: [],
  buyer: [{ buyer: [] }, { session: [] }],
  ticket: [{ ticket: [] }],
  operator: [{ operator: [] }],
  provider: [],
}
const HEADER_SAYS: Readonly<Record<string, string>> = {
  etag: 'Send it as If-None-Match to hear only of changes.',
  location: 'Where the thing is.',
  'set-cookie': 'The session cookie.',
  'cache-control': 'Not to be kept.',
  'retry-after': 'Seconds to wait.',
  ratelimit: 'What is left of the limit, and when there is more.',
  'ratelimit-policy': 'The limit that was met.',
  allow: 'The methods this address takes.',
  'www-authenticate': 'Bearer.',
}
const TAKES_SAY: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'The same key again leads to the same thing; with another body it is refused.',
  'If-None-Match': 'The ETag of an earlier answer.',
  Accept: 'text/csv for CSV.',
  Upgrade: 'websocket',
}

export function describeCalls(calls: readonly Call[]): OpenApi {
  const schemas: Record<string, Json> = {}
  const shape = (schema: z.ZodType) => hoist(schema, schemas)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const call of calls) {
    const path = paths[call.path] ?? {}
    path[call.method.toLowerCase()] = operationOf(call, shape)
    paths[call.path] = path
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Stampede',
      version: API_VERSION,
      description:
        'A flash-sale engine. JSON in UTF-8, ids are strings, times are RFC 3339 in UTC with milliseconds, money is in minor units. ' +
        'Errors are problem+json (RFC 9457) with a stable code; /docs/errors explains each. Unknown addresses answer 404, wrong methods ' +
        '405 with Allow, bodies over 16 KiB 413.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: ['Buyers', 'Operators', 'Operations', 'Sandbox'].map(name => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        buyer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Signed by the shop; sub is the buyer.',
        },
        session: { type: 'apiKey', in: 'cookie', name: 'stampede_session' },
        ticket: { type: 'http', scheme: 'bearer', description: 'What …/ticket returned.' },
        operator: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN, or one of ADMIN_TOKENS.' },
      },
    },
  }
}

type Shape = (schema: z.ZodType) => Json

function operationOf(call: Call, shape: Shape): Operation {
  const responses: Record<string, Json> = {}
  for (const [status, answer] of Object.entries(call.answers)) responses[status] = answerOf(answer, shape)
  for (const [status, codes] of byStatus(problemsOf(call))) {
    // A status may be an answer of its own and a problem too: readiness is told with 503.
    const also = responses[status]
    const problem = problemResponse(codes, shape)
    responses[status] =
      also === undefined
        ? problem
        : { ...problem, ...also, content: { ...(also.content as Json), ...(problem.content as Json) } }
  }
  return {
    tags: [call.group],
    operationId: operationIdOf(call),
    summary: call.summary,
    ...(call.more !== undefined && { description: call.more }),
    security: SECURITY[call.who],
    parameters: parametersOf(call, shape),
    ...(call.body !== undefined && {
      requestBody: {
        required: !call.body.schema.safeParse({}).success,
        content: { 'application/json': { schema: shape(call.body.schema), example: call.body.example } },
      },
    }),
    responses,
  }
}

function answerOf(answer: Answer, shape: Shape): Json {
  const content: Record<string, Json> = {}
  if (answer.body !== undefined) {
    content['application/json'] = {
      schema: shape(answer.body),
      ...(answer.example !== undefined && { example: answer.example }),
    }
  }
  for (const type of answer.texts ?? []) content[type] = { schema: { type: 'string' } }
  return {
    description: answer.what,
    ...(answer.headers !== undefined && { headers: headersOf(answer.headers) }),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

function problemResponse(codes: readonly ProblemCode[], shape: Shape): Json {
  const examples = Object.fromEntries(codes.map(code => [code, { value: problemBody(code, PROBLEMS[code].title) }]))
  const schema = { allOf: [shape(problemAnswer), { properties: { code: { enum: codes } } }] }
  const headers = [...new Set(codes.flatMap(code => PROBLEMS[code].headers ?? []))]
  return {
    description: codes.map(code => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
    ...(headers.length > 0 && { headers: headersOf(headers) }),
    content: { [PROBLEM_TYPE]: { schema, examples } },
  }
}

function headersOf(names: readonly string[]): Json {
  return Object.fromEntries(
    names.map(name => [name, { description: HEADER_SAYS[name] ?? name, schema: { type: 'string' } }]),
  )
}

function byStatus(codes: readonly ProblemCode[]): Map<string, ProblemCode[]> {
  const found = new Map<string, ProblemCode[]>()
  for (const code of codes) {
    const status = String(PROBLEMS[code].status)
    found.set(status, [...(found.get(status) ?? []), code])
  }
  return found
}

function parametersOf(call: Call, shape: Shape): readonly Json[] {
  const inPath = Array.from(call.path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: ['sale', 'item', 'id'].includes(name ?? '') ? { $ref: '#/components/schemas/Id' } : { type: 'string' },
  }))
  const query = call.query === undefined ? {} : shape(call.query)
  const required = (query.required ?? []) as readonly string[]
  const inQuery = Object.entries((query.properties ?? {}) as Record<string, Json>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
  const inHeader = (call.takes ?? []).map(name => ({
    name,
    in: 'header',
    required: false,
    description: TAKES_SAY[name] ?? name,
    schema: { type: 'string' },
  }))
  return [...inPath, ...inQuery, ...inHeader]
}

/** `getApiSalesSale` for `GET /api/sales/{sale}`. */
function operationIdOf(call: Call): string {
  const words = call.path.split(/[^A-Za-z]+/).filter(word => word !== '')
  return call.method.toLowerCase() + words.map(word => word[0]?.toUpperCase() + word.slice(1)).join('')
}

/** The schema with its named parts moved to the document's components. */
function hoist(schema: z.ZodType, components: Record<string, Json>): Json {
  const { $schema, $defs, ...root } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<
    string,
    unknown
  >
  for (const [name, part] of Object.entries(($defs ?? {}) as Record<string, Json>))
    components[name] = moved(part) as Json
  return moved(root) as Json
}

function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [
        key,
        key === '$ref' && typeof child === 'string' ? child.replace('#/$defs/', '#/components/schemas/') : moved(child),
      ]),
  )
}
