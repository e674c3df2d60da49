/** The bytes of an order request: what a browser's fetch would send, without headers that the server ignores. */

import type { Target } from '../../src/rehearsal/client/connection.ts'

export function orderRequest(target: Target, sale: string, item: string, ticket: string | undefined): Buffer {
  const bearer = ticket === undefined ? '' : `authorization: Bearer ${ticket}\r\n`
  return Buffer.from(
    `POST /api/sales/${sale}/items/${item}/orders HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n${bearer}content-length: 0\r\n\r\n`,
    'latin1',
  )
}
