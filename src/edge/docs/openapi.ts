/**
 * The API's description as an OpenAPI 3.1 document, made from the calls of `wire/` and from the schemas that check requests and type
 * answers. Pure. Describes the calls it is given: a server need not have all of them.
 */

import { z } from 'zod'
import { problemAnswer } from '../../wire/answers.ts'
import { type Answer, type Call, problemsOf } from '../../wire/call.ts'
import { PROBLEMS, type ProblemCode, problemBody } from '../../wire/problems.ts'

export type Json = { readonly [key: string]: unknown }

export type OpenApi = ReturnType<typeof describeCalls>
export type Operation = ReturnType<typeof operationOf>

/** Describes a schema, and moves its named parts to the document's components. */
type Describe = (schema: z.ZodType) => Json

const INFO = {
  title: 'Stampede',
  // Of the API, not of the program: it changes when a client would have to.
  version: '1.0.0',
  description:
    'A flash-sale engine. JSON in UTF-8, ids are strings, times are RFC 3339 in UTC with milliseconds, money is in minor units. ' +
    'Errors are problem+json (RFC 9457) with a stable code; /docs/errors explains each. Unknown addresses answer 404, wrong methods ' +
    '405 with Allow, bodies over 16 KiB 413.',
  license: { name: 'MIT', identifier: 'MIT' },
}
const SECURITY_SCHEMES = {
  buyer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Signed by the shop; sub is the buyer.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'stampede_session',
    description: 'Where PUBLIC_URL is https: __Host-stampede_session.',
  },
  ticket: { type: 'http', scheme: 'bearer', description: 'What …/ticket returned.' },
  operator: {
    type: 'http',
    scheme: 'bearer',
    description:
      'ADMIN_TOKEN (an admin), or one of ADMIN_TOKENS. Each call names the least role that may make it: viewer, operator or admin.',
  },
}
const SECURITY: Readonly<Record<Exclude<Call['who'], 'operator'>, readonly Json[]>> = {
  anyone: [],
  buyer: [{ buyer: [] }, { session: [] }],
  ticket: [{ ticket: [] }],
  provider: [],
}
const RESPONSE_HEADERS: Readonly<Record<string, string>> = {
  etag: 'Send it as If-None-Match to get the body only after a change.',
  location: 'The address of the sale, order or page.',
  'set-cookie': 'The session cookie.',
  'cache-control': 'no-store: do not cache.',
  'retry-after': 'Seconds to wait.',
  ratelimit: 'What is left of the limit, and when there is more.',
  'ratelimit-policy': 'The limit that was met.',
  allow: 'The methods this address takes.',
  'www-authenticate': 'Bearer.',
}
const REQUEST_HEADERS: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'The same key with the same body has no second effect; with another body it is refused.',
  'If-None-Match': 'The ETag of an earlier answer.',
  Accept: 'text/csv for CSV.',
  Upgrade: 'websocket',
}

export function describeCalls(calls: readonly Call[]) {
  const schemas: Record<string, Json> = {}
  const paths: Record<string, Record<string, Operation>> = {}
  for (const call of calls) {
    const path = paths[call.path] ?? {}
    path[call.method.toLowerCase()] = operationOf(call, schema => hoist(schema, schemas))
    paths[call.path] = path
  }
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/' }],
    tags: ['Buyers', 'Operators', 'Operations', 'Sandbox'].map(name => ({ name })),
    paths,
    components: { schemas, securitySchemes: SECURITY_SCHEMES },
  }
}

function operationOf(call: Call, describe: Describe) {
  // Described in this order: the components stand in the order they are met.
  const responses = responsesOf(call, describe)
  const parameters = parametersOf(call, describe)
  return {
    tags: [call.group],
    operationId: operationIdOf(call),
    summary: call.summary,
    ...(call.more !== undefined && { description: call.more }),
    security: securityOf(call),
    parameters,
    ...(call.body !== undefined && { requestBody: requestBodyOf(call.body, describe) }),
    // A file: OpenAPI 3.1 gives it no schema.
    ...(call.file !== undefined && {
      requestBody: { required: true, content: Object.fromEntries(call.file.map(type => [type, {}])) },
    }),
    responses,
  }
}

/** Beside the scheme stands the least role, as OpenAPI 3.1 lets a requirement name roles. */
function securityOf({ who, role }: Call): readonly Json[] {
  return who === 'operator' ? [{ operator: [role] }] : SECURITY[who]
}

function requestBodyOf({ schema, example }: NonNullable<Call['body']>, describe: Describe) {
  const content = { 'application/json': { schema: describe(schema), example } }
  return { required: !schema.safeParse({}).success, content }
}

function responsesOf(call: Call, describe: Describe): Readonly<Record<string, Json>> {
  const responses: Record<string, Json> = {}
  for (const [status, answer] of Object.entries(call.answers)) responses[status] = answerOf(answer, describe)
  for (const [status, codes] of Map.groupBy(problemsOf(call), code => String(PROBLEMS[code].status))) {
    // A status may belong to an answer and to a problem: readiness answers 503 itself.
    const answer = responses[status]
    const problem = problemOf(codes, describe)
    const content = { ...(answer?.content as Json | undefined), ...(problem.content as Json) }
    responses[status] = answer === undefined ? problem : { ...problem, ...answer, content }
  }
  return responses
}

function answerOf(answer: Answer, describe: Describe): Json {
  const content: Record<string, Json> = {}
  if (answer.body !== undefined) {
    const example = answer.example !== undefined && { example: answer.example }
    content['application/json'] = { schema: describe(answer.body), ...example }
  }
  for (const type of answer.texts ?? []) content[type] = { schema: { type: 'string' } }
  return {
    description: answer.what,
    ...(answer.headers !== undefined && { headers: headersOf(answer.headers) }),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

function problemOf(codes: readonly ProblemCode[], describe: Describe): Json {
  const examples = Object.fromEntries(codes.map(code => [code, { value: problemBody(code, PROBLEMS[code].title) }]))
  const schema = { allOf: [describe(problemAnswer), { properties: { code: { enum: codes } } }] }
  const headers = [...new Set(codes.flatMap(code => PROBLEMS[code].headers ?? []))]
  return {
    description: codes.map(code => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
    ...(headers.length > 0 && { headers: headersOf(headers) }),
    content: { 'application/problem+json': { schema, examples } },
  }
}

function headersOf(names: readonly string[]): Json {
  const schema = { type: 'string' }
  return Object.fromEntries(names.map(name => [name, { description: RESPONSE_HEADERS[name] ?? name, schema }]))
}

function parametersOf(call: Call, describe: Describe): readonly Json[] {
  const text = { type: 'string' }
  const inPath = Array.from(call.path.matchAll(/\{(\w+)\}/g), ([, name = '']) => {
    const isId = ['sale', 'item', 'id'].includes(name)
    return { name, in: 'path', required: true, schema: isId ? { $ref: '#/components/schemas/Id' } : text }
  })
  const query = call.query === undefined ? {} : describe(call.query)
  const required = (query.required ?? []) as readonly string[]
  const inQuery = Object.entries((query.properties ?? {}) as Json).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema }
  })
  const inHeader = (call.takes ?? []).map(name => {
    return { name, in: 'header', required: false, description: REQUEST_HEADERS[name] ?? name, schema: text }
  })
  return [...inPath, ...inQuery, ...inHeader]
}

/** `getApiSalesSale` for `GET /api/sales/{sale}`. */
function operationIdOf(call: Call): string {
  const words = call.path.split(/[^A-Za-z]+/).filter(word => word !== '')
  return call.method.toLowerCase() + words.map(word => word[0]?.toUpperCase() + word.slice(1)).join('')
}

/** Through text: members that are undefined are gone, and references point to the document's components. */
function hoist(schema: z.ZodType, components: Record<string, Json>): Json {
  const made = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  const { $schema, $defs, ...root } = JSON.parse(made.replaceAll('#/$defs/', '#/components/schemas/'))
  Object.assign(components, $defs)
  return root
}
