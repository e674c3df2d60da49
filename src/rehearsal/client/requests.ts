/** The bytes of every request a buyer sends, as a browser's fetch would send them but for the headers that nobody reads. */

import type { Target } from './connection.ts'

export interface Wares {
  readonly sale: string
  readonly item: string
}

export interface Requests {
  time(): Buffer
  session(buyer: string): Buffer
  ticket(token: string): Buffer
  /** With a ticket, or as a bot without one. */
  order(ticket: string | undefined): Buffer
  look(order: string, token: string): Buffer
  cancel(order: string, token: string): Buffer
  pay(order: string, token: string): Buffer
  /** The pay page is the server's own, whatever name it calls itself by. */
  approve(payUrl: string): Buffer
}

export function createRequests(target: Target, path: string, wares: Wares): Requests {
  const name = target.host.includes(':') ? `[${target.host}]` : target.host
  const host = `host: ${name}:${target.port}\r\n`
  const item = `${path}/api/sales/${wares.sale}/items/${wares.item}`
  const write = (method: string, to: string, bearer: string | undefined, body = '') => {
    const who = bearer === undefined ? '' : `authorization: Bearer ${bearer}\r\n`
    const length = method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
    const kind = body === '' ? '' : 'content-type: application/json\r\n'
    return Buffer.from(`${method} ${to} HTTP/1.1\r\n${host}${who}${kind}${length}\r\n${body}`)
  }
  return {
    time: () => write('GET', `${path}/api/time`, undefined),
    session: buyer => write('POST', `${path}/api/session`, undefined, JSON.stringify({ buyer })),
    ticket: token => write('POST', `${item}/ticket`, token),
    order: ticket => write('POST', `${item}/orders`, ticket),
    look: (order, token) => write('GET', `${path}/api/orders/${order}`, token),
    cancel: (order, token) => write('POST', `${path}/api/orders/${order}/cancel`, token),
    pay: (order, token) => write('POST', `${path}/api/orders/${order}/payment`, token, '{"provider":"sandbox"}'),
    approve: payUrl => write('POST', `${new URL(payUrl, 'http://x').pathname}/approve`, undefined),
  }
}
