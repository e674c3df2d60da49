/** How a call is made, to paste: in curl for each of them, with the typed client for those of buyers. Placeholders are variables of the shell. */

import { CLIENT_SAMPLES } from '../../wire/calls/client-samples.ts'
import type { Json, Operation } from './openapi.ts'

const HOST = 'https://sale.example'
/** Those of the examples; anything else is a number, too. */
const IN_PATH: Readonly<Record<string, string>> = {
  sale: '4711001337000001',
  item: '4711001337000002',
  id: '4711001337000100',
  provider: 'stripe',
  token: 'TOKEN',
}
const BEARERS: Readonly<Record<string, string>> = {
  buyer: '$BUYER_TOKEN',
  ticket: '$TICKET',
  operator: '$ADMIN_TOKEN',
}

/** Undefined for the WebSocket, which curl does not speak. */
export function curlSample(method: string, path: string, operation: Operation): string | undefined {
  if (path === '/api/live') return undefined
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => IN_PATH[name] ?? '4711001337000300')
  const needed = operation.parameters.filter(({ in: part, required }) => part === 'query' && required === true)
  const query = needed.map(({ name, schema }) => `${name}=${exampleOf(schema as Json)}`).join('&')
  const [who] = operation.security.flatMap(one => Object.keys(one))
  const bearer = who === undefined ? undefined : BEARERS[who]
  const body = ((operation.requestBody?.content as Json | undefined)?.['application/json'] as Json | undefined)?.example
  const isFile = body === undefined && operation.requestBody !== undefined
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${HOST}${address}${query === '' ? '' : `?${query}`}"`,
    ...(bearer === undefined ? [] : [`-H "Authorization: Bearer ${bearer}"`]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${quoted(JSON.stringify(body))}'`]),
    ...(isFile ? ["-H 'Content-Type: image/jpeg'", '--data-binary @picture.jpg'] : []),
  ].join(' \\\n  ')
}

export function clientSample(method: string, path: string): string | undefined {
  return CLIENT_SAMPLES[`${method} ${path}`]
}

function exampleOf({ minimum, enum: values }: Json): string {
  return String(minimum ?? (values as readonly string[] | undefined)?.[0] ?? 'VALUE')
}

/** Inside of single quotes of a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", String.raw`'\''`)
}
