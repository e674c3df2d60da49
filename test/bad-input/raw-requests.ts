/** Bytes that are no request, or one that no HTTP library would send. The server may only refuse, or hang up. */

import type { Scene } from './scene.ts'

interface RawRequest {
  readonly what: string
  readonly bytes: Uint8Array
  /** The whole answer, status line first; empty when the server just hangs up. */
  readonly expected: RegExp
}

const REFUSED = /^HTTP\/1\.1 4\d\d /
const BAD = /^HTTP\/1\.1 400 /
const TOO_LARGE = /^HTTP\/1\.1 431 /
const REFUSED_OR_CUT = /^(HTTP\/1\.1 4\d\d |$)/
const PROBLEM = /^HTTP\/1\.1 4\d\d [\s\S]*"code":"/

export function rawRequests({ open, ticket, operator }: Scene): readonly RawRequest[] {
  const order = `/api/sales/${open.id}/items/${open.item}/orders`
  const all: RawRequest[] = []
  const add = (what: string, expected: RegExp, text: string) =>
    all.push({ what, expected, bytes: Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1') })
  const head = (line: string, ...headers: string[]) =>
    `${[line, 'Host: x', 'Connection: close', ...headers].join('\n')}\n\n`

  const signed = `Authorization: Bearer ${ticket}`
  add(
    'both lengths',
    BAD,
    `${head(`POST ${order} HTTP/1.1`, signed, 'Content-Length: 2', 'Transfer-Encoding: chunked')}0\n\n`,
  )
  add(
    'both lengths, the other way round',
    BAD,
    `${head(`POST ${order} HTTP/1.1`, signed, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\n\n`,
  )
  add('two lengths', BAD, `${head(`POST ${order} HTTP/1.1`, signed, 'Content-Length: 2', 'Content-Length: 3')}{} `)
  add('a list of lengths', BAD, `${head(`POST ${order} HTTP/1.1`, signed, 'Content-Length: 2, 2')}{}`)
  for (const length of ['-2', '+2', '0x2', '2.0', 'abc', '99999999999999999999'])
    add(`length ${length}`, BAD, `${head(`POST ${order} HTTP/1.1`, signed, `Content-Length: ${length}`)}{}`)
  add('an encoding that is none', BAD, `${head(`POST ${order} HTTP/1.1`, signed, 'Transfer-Encoding: gzip')}{}`)
  add(
    'an encoding with a twist',
    BAD,
    `${head(`POST ${order} HTTP/1.1`, signed, 'Transfer-Encoding: chunked, identity')}0\n\n`,
  )
  add(
    'a chunk of no size',
    REFUSED_OR_CUT,
    `${head(`POST /api/session HTTP/1.1`, 'Transfer-Encoding: chunked')}zz\n{}\n0\n\n`,
  )
  add(
    'a chunk of a negative size',
    REFUSED_OR_CUT,
    `${head(`POST /api/session HTTP/1.1`, 'Transfer-Encoding: chunked')}-1\n{}\n0\n\n`,
  )
  add('headers of 40 KB', TOO_LARGE, head('GET /api/time HTTP/1.1', `X: ${'a'.repeat(40_000)}`))
  add('an address of 20 KB', TOO_LARGE, head(`GET /api/time?${'a'.repeat(20_000)} HTTP/1.1`))
  add('300 headers', TOO_LARGE, head('GET /api/time HTTP/1.1', ...Array.from({ length: 300 }, (_, i) => `X${i}: a`)))
  add('a blank before the colon', BAD, head('GET /api/time HTTP/1.1', 'X : a'))
  add('a folded header', BAD, head('GET /api/time HTTP/1.1', 'X: a', ' b'))
  add('NUL in a header', BAD, head('GET /api/time HTTP/1.1', 'X: a\0b'))
  add('a header without a name', BAD, head('GET /api/time HTTP/1.1', ': a'))
  add('a header without a colon', BAD, head('GET /api/time HTTP/1.1', 'nothing'))
  all.push({
    what: 'a bare line feed in a header',
    expected: BAD,
    bytes: Buffer.from('GET /api/time HTTP/1.1\r\nHost: x\r\nX: a\nSet-Cookie: b\r\n\r\n'),
  })
  add('no host', BAD, 'GET /api/time HTTP/1.1\nConnection: close\n\n')
  for (const host of ['x:99999', ']:1', '[', 'x/api/time?', 'x/../../', 'a b', 'x@y', 'x#', 'x?y', 'é', '<script>'])
    add(`host ${host}`, BAD, `GET /api/sales HTTP/1.1\nHost: ${host}\nConnection: close\n\n`)
  add('two hosts', BAD, 'GET /api/time HTTP/1.1\nHost: a\nHost: b\nConnection: close\n\n')
  add('a method nobody has', REFUSED_OR_CUT, head('FOO /api/time HTTP/1.1'))
  add('a method in small letters', REFUSED_OR_CUT, head('get /api/time HTTP/1.1'))
  add('TRACE', PROBLEM, head('TRACE /api/time HTTP/1.1', `Authorization: ${operator}`))
  add('CONNECT', REFUSED, head('CONNECT x:80 HTTP/1.1'))
  add('OPTIONS *', REFUSED, head('OPTIONS * HTTP/1.1'))
  add('a backslash for a slash', REFUSED, head('GET \\api\\time HTTP/1.1'))
  add('an address of bytes', PROBLEM, head('GET /api/t\xff\xfe HTTP/1.1'))
  add('a fragment', PROBLEM, head('GET /api/time#x HTTP/1.1'))
  add('two slashes in front', PROBLEM, head('GET //api/time HTTP/1.1'))
  add('two slashes before an order', PROBLEM, head(`POST /${order} HTTP/1.1`, signed, 'Content-Length: 0'))
  add('another host in front', PROBLEM, head('GET //evil.example/api/time HTTP/1.1'))
  add('a bearer of bytes', PROBLEM, head('GET /api/orders HTTP/1.1', 'Authorization: Bearer \xff\xfe\x80'))
  add(
    'a ticket of bytes',
    PROBLEM,
    head(`POST ${order} HTTP/1.1`, 'Authorization: Bearer t1.\xff.\xfe.', 'Content-Length: 0'),
  )
  add('two bearers', PROBLEM, head(`POST ${order} HTTP/1.1`, signed, 'Authorization: Bearer x', 'Content-Length: 0'))
  add(
    'a key with a line break in it',
    BAD,
    head(
      'POST /api/admin/sales HTTP/1.1',
      `Authorization: ${operator}`,
      'Idempotency-Key: a',
      ' Set-Cookie: b',
      'Content-Length: 0',
    ),
  )
  add('HTTP/2 out of the blue', REFUSED, 'PRI * HTTP/2.0\n\nSM\n\n')
  add('TLS out of the blue', REFUSED_OR_CUT, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n')
  return all
}
