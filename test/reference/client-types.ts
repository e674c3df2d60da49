/** `client/src/wire.ts`: the shapes that buyers' calls take and answer, as TypeScript for the client, which brings no schemas along. */

import { z } from 'zod'
import {
  orderAnswer,
  ordersAnswer,
  paymentStartedAnswer,
  saleAnswer,
  sessionAnswer,
  ticketAnswer,
  timeAnswer,
  whoAnswer,
} from '../../src/wire/answers.ts'
import { type Call, problemsOf } from '../../src/wire/call.ts'
import { buyerCalls } from '../../src/wire/calls/buyer-calls.ts'
import { drawCalls } from '../../src/wire/draw/draw-calls.ts'
import { lineCalls } from '../../src/wire/line/line-calls.ts'
import { joinAnswer } from '../../src/wire/line/line-shapes.ts'
import { ownOrderAnswer } from '../../src/wire/orders/own-order.ts'

type Json = Readonly<Record<string, unknown>>

/** Those without a name of their own in the API's description. */
const ROOTS: Readonly<Record<string, z.ZodType>> = {
  Sale: saleAnswer,
  Order: orderAnswer,
  OwnOrder: ownOrderAnswer,
  Orders: ordersAnswer,
  Ticket: ticketAnswer,
  PaymentStarted: paymentStartedAnswer,
  Guest: sessionAnswer,
  Session: whoAnswer,
  ServerTime: timeAnswer,
  Join: joinAnswer,
}

/** Those that the client makes. */
const CALLS: readonly Call[] = [
  ...Object.values(buyerCalls),
  ...[lineCalls.joinLine, lineCalls.ownJoin, lineCalls.leaveLine, drawCalls.drawRecord],
]

export function renderClientTypes(): string {
  const types = new Map<string, Json>()
  for (const [name, schema] of Object.entries(ROOTS)) {
    const { $defs = {}, $schema, ...root } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
    for (const [defined, shape] of Object.entries($defs)) types.set(defined, shape as Json)
    if (!('$ref' in root) && !types.has(name)) types.set(name, root as Json)
  }
  const codes = [...new Set(CALLS.flatMap(problemsOf))].sort()
  return [
    '/** What buyers’ calls answer. Made from the server’s own schemas by `npm run reference`: change those, not this file. */',
    ...[...types].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, shape]) => declarationOf(name, shape)),
    `/** Every code that a buyer's call may be refused with. docs/reference/errors.md says what each means. */\nexport type ProblemCode =\n${codes.map(code => `  | '${code}'`).join('\n')}`,
  ]
    .join('\n\n')
    .concat('\n')
}

function declarationOf(name: string, shape: Json): string {
  const about = typeof shape.description === 'string' ? `/** ${shape.description.replaceAll('*/', '')} */\n` : ''
  return shape.type === 'object' && shape.properties !== undefined
    ? `${about}export interface ${name} ${membersOf(shape, '')}`
    : `${about}export type ${name} = ${typeOf(shape, '')}`
}

function membersOf(shape: Json, indent: string): string {
  const inner = `${indent}  `
  const required = new Set((shape.required as readonly string[] | undefined) ?? [])
  const members = Object.entries(shape.properties as Record<string, Json>).flatMap(([name, member]) => {
    const about =
      typeof member.description === 'string' ? [`${inner}/** ${member.description.replaceAll('*/', '')} */`] : []
    return [
      ...about,
      `${inner}readonly ${name}${required.has(name) ? '' : '?'}: ${typeOf(member, inner)}${required.has(name) ? '' : ' | undefined'}`,
    ]
  })
  return ['{', ...members, `${indent}}`].join('\n')
}

function typeOf(shape: Json, indent: string): string {
  if (typeof shape.$ref === 'string') return shape.$ref.split('/').at(-1) ?? 'unknown'
  const either = (shape.anyOf ?? shape.oneOf) as readonly Json[] | undefined
  if (either !== undefined) return either.map(one => typeOf(one, indent)).join(' | ')
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (Array.isArray(shape.enum)) return shape.enum.map(value => `'${value}'`).join(' | ')
  if (Array.isArray(shape.type)) return shape.type.map(type => typeOf({ ...shape, type }, indent)).join(' | ')
  switch (shape.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return shape.type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return `ReadonlyArray<${typeOf(shape.items as Json, indent)}>`
    case 'object':
      return shape.properties === undefined
        ? `Readonly<Record<string, ${typeOf((shape.additionalProperties as Json) ?? {}, indent)}>>`
        : membersOf(shape, indent)
    default:
      return 'unknown'
  }
}
