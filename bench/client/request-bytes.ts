/** The bytes of an order request: what a browser's fetch would send, its body included, without headers that the server ignores. */

import type { Target } from '../../src/rehearsal/client/connection.ts'

/** What every real client sends: the quantity that it also gets without a body. */
export const ORDER_BODY = '{"quantity":1}'

/** @param body empty: a client that wants one unit need not say so */
export function orderRequest(
  target: Target,
  sale: string,
  item: string,
  ticket: string | undefined,
  body = ORDER_BODY,
): Buffer {
  const bearer = ticket === undefined ? '' : `authorization: Bearer ${ticket}\r\n`
  const type = body === '' ? '' : 'content-type: application/json\r\n'
  return Buffer.from(
    `POST /api/sales/${sale}/items/${item}/orders HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n${bearer}${type}content-length: ${body.length}\r\n\r\n${body}`,
    'latin1',
  )
}
