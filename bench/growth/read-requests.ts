/** The bytes of reads: a buyer's own orders, and an operator's calls. */

import { SignJWT } from 'jose'
import type { Target } from '../../src/rehearsal/client/connection.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../servers/stampede.ts'
import { buyersIn, oldBuyer, type Past } from './old-orders.ts'

/** Lists of as many buyers, all over the past, none of them twice; fewer where there are fewer. */
export function listRequests(target: Target, past: Past, count: number): Promise<Buffer[]> {
  const buyers = buyersIn(past)
  const step = Math.max(1, Math.floor(buyers / count))
  return Promise.all(Array.from({ length: Math.min(buyers, count) }, (_, i) => listRequest(target, oldBuyer(i * step))))
}

async function listRequest(target: Target, buyer: string): Promise<Buffer> {
  const token = await new SignJWT({ sub: buyer })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
  return request(target, 'GET /api/orders', token)
}

/** `call`: the method and the path below `/api/admin`. */
export function operatorRequest(target: Target, method: string, path: string): Buffer {
  return request(target, `${method} /api/admin${path}`, ADMIN_TOKEN)
}

function request({ host, port }: Target, call: string, token: string): Buffer {
  const length = call.startsWith('POST') ? 'content-length: 0\r\n' : ''
  return Buffer.from(`${call} HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${token}\r\n${length}\r\n`)
}
