/** The bytes of every request that a buyer sends: what a browser's fetch would send, without headers that the server ignores. */

import type { Target } from './connection.ts'

export type Requests = ReturnType<typeof createRequests>

export function createRequests(target: Target, path: string, sold: { readonly sale: string; readonly item: string }) {
  const name = target.host.includes(':') ? `[${target.host}]` : target.host
  const host = `host: ${name}:${target.port}\r\n`
  const item = `${path}/api/sales/${sold.sale}/items/${sold.item}`
  const write = (method: string, to: string, bearer?: string, body = '', more = '') => {
    const authorization = bearer === undefined ? '' : `authorization: Bearer ${bearer}\r\n`
    const length = method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
    const type = body === '' ? '' : 'content-type: application/json\r\n'
    return Buffer.from(`${method} ${to} HTTP/1.1\r\n${host}${authorization}${more}${type}${length}\r\n${body}`)
  }
  const orderPath = (order: string) => `${path}/api/orders/${order}`
  return {
    time: () => write('GET', `${path}/api/time`),
    session: (buyer: string) => write('POST', `${path}/api/session`, undefined, JSON.stringify({ buyer })),
    ticket: (token: string) => write('POST', `${item}/ticket`, token),
    joinLine: (token: string) => write('POST', `${path}/api/sales/${sold.sale}/line`, token),
    ownJoin: (token: string) => write('GET', `${path}/api/sales/${sold.sale}/line`, token),
    /** With a ticket, and the sign-in that it may be bound to; or as a bot without both. */
    order: (ticket: string | undefined, signIn?: string) =>
      write(
        'POST',
        `${item}/orders`,
        ticket,
        '{"quantity":1}',
        signIn === undefined ? '' : `stampede-sign-in: ${signIn}\r\n`,
      ),
    readOrder: (order: string, token: string) => write('GET', orderPath(order), token),
    cancel: (order: string, token: string) => write('POST', `${orderPath(order)}/cancel`, token),
    pay: (order: string, token: string) =>
      write('POST', `${orderPath(order)}/payment`, token, '{"provider":"sandbox"}'),
    /** The sandbox's pay page is on the same server, under any host name. */
    approve: (payUrl: string) => write('POST', `${new URL(payUrl, 'http://x').pathname}/approve`),
  }
}
