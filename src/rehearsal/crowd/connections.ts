/**
 * The buyers' connections: where the server is, and which local address each connection uses. To a server on this machine each connection
 * has its own address out of 127/8; to any other server all share one address, and a note in the report says so.
 */

import { readFileSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Target } from '../client/connection.ts'
import { Pool } from '../client/pool.ts'

/** The first local address of each group, as a number in 127/8: the groups never share one. */
const FIRST_ADDRESS = { buyers: 256, demo: 76 * 65_536 + 256, bots: 100 * 65_536 } as const
/** Open files of the runtime, modules and the report. */
const OTHER_FILES = 100

/** Where requests go, and a note when all buyers share one address. */
export function targetOf(url: string): { readonly target: Target; readonly note: string | undefined } {
  const { hostname, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const host = hostname === 'localhost' ? '127.0.0.1' : hostname.replace(/^\[|\]$/g, '')
  return { target: { host, port: Number(port || (secure ? 443 : 80)), secure }, note: sharedAddressNote(host) }
}

export function openConnections(
  group: keyof typeof FIRST_ADDRESS,
  connections: number,
  target: Target,
  clock: Clock,
  options: { readonly reopenTriesMax?: number; readonly stop?: AbortSignal } = {},
): Promise<Pool> {
  const own = hasManyAddresses(target.host)
  const addressOf = (seat: number) => (own ? loopbackAddress(FIRST_ADDRESS[group] + seat) : undefined)
  return Pool.open({ target, connections, clock, addressOf, ...options }).catch(cannotConnect)
}

/** Every connection is an open file. Checked before the first buyer signs in. */
export function checkOpenFiles(connections: number): void {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return
  }
  const allowed = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  const needed = connections + OTHER_FILES
  if (needed <= allowed) return
  throw tooFewFileHandles(
    `${connections} connections need ${needed}, this system allows ${allowed}: `,
    `pass --connections ${Math.max(1, allowed - OTHER_FILES)}`,
  )
}

function tooFewFileHandles(what: string, instead: string): Fault {
  return new Fault('too_few_file_handles', `too few file handles: ${what}run "ulimit -n 65536" first, or ${instead}`)
}

function cannotConnect(cause: unknown): never {
  if (cause instanceof Fault) throw cause
  const code = (cause as { code?: string }).code ?? String(cause)
  if (code === 'EMFILE' || code === 'ENFILE') throw tooFewFileHandles('', 'pass fewer --connections')
  const message = `the server does not accept that many connections (${code}): pass fewer --connections`
  throw new Fault('server_away', message, { cause })
}

function sharedAddressNote(host: string): string | undefined {
  if (hasManyAddresses(host)) return undefined
  // IPv6 has a single loopback address, IPv4 sixteen million.
  if (host === '::1' || host.startsWith('::ffff:7f'))
    return `All buyers came from one address, because [${host}] has only one: the limit per address counts them as one. On 127.0.0.1 each has its own.`
  return 'The server is on another machine, so all buyers came from one address: its limit per address counts them as one.'
}

function hasManyAddresses(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host)
}

function loopbackAddress(no: number): string {
  return `127.${1 + ((no >> 16) & 127)}.${(no >> 8) & 255}.${no & 255}`
}
