/**
 * The buyers' way to the server: where it is, which addresses they come from, and their connections. On this machine each connection
 * has an address of its own out of 127/8; everywhere else they come from one, and it is said.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Target } from '../client/connection.ts'
import { Pool } from '../client/pool.ts'

/** Seats of bots come from addresses of their own, far from those of buyers. */
const FIRST_OF = { buyers: 256, bots: 100 * 65_536 } as const

/** Where requests go, and what must be said about where they come from. */
export function targetOf(url: string): { readonly target: Target; readonly note: string | undefined } {
  const { hostname, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const host = hostname === 'localhost' ? '127.0.0.1' : hostname.replace(/^\[|\]$/g, '')
  return { target: { host, port: Number(port || (secure ? 443 : 80)), secure }, note: noteOn(host) }
}

export function openConnections(
  who: keyof typeof FIRST_OF,
  connections: number,
  target: Target,
  clock: Clock,
  reopenTriesMax: number,
  stop: AbortSignal,
): Promise<Pool> {
  const own = hasManyAddresses(target.host)
  const addressOf = (seat: number) => (own ? loopbackAddress(FIRST_OF[who] + seat) : undefined)
  return Pool.open({ target, connections, clock, addressOf, reopenTriesMax, stop }).catch(cannotConnect)
}

function noteOn(host: string): string | undefined {
  if (hasManyAddresses(host)) return undefined
  // IPv6 has one loopback address, and IPv4 sixteen million.
  if (host === '::1' || host.startsWith('::ffff:7f'))
    return `All buyers came from one address, because [${host}] has only that: the limit per address counts them as one. On 127.0.0.1 each has its own.`
  return 'The server is on another machine, so all buyers came from one address: its limit per address counts them as one.'
}

function hasManyAddresses(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host)
}

/** Out of 127/8, each a different one. */
function loopbackAddress(no: number): string {
  return `127.${1 + ((no >> 16) & 127)}.${(no >> 8) & 255}.${no & 255}`
}

function cannotConnect(cause: unknown): never {
  if (cause instanceof Fault) throw cause
  const code = (cause as { code?: string }).code ?? String(cause)
  if (code === 'EMFILE' || code === 'ENFILE')
    throw new Fault(
      'too_few_file_handles',
      'too few file handles: run "ulimit -n 65536" first, or pass fewer --connections',
    )
  throw new Fault('server_away', `the server does not take as many connections (${code}): pass fewer --connections`, {
    cause,
  })
}
