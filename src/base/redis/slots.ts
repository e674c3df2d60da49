/**
 * How a Redis Cluster spreads keys: 16384 slots by the hash of the text between braces, and which node owns which slot, as one of its nodes
 * answers. Pure. What a node does not know (a slot without an owner, an owner without an address) is left out.
 */

import { type HostPort, nameOf } from './redis-url.ts'

export const SLOTS = 16_384

export interface SlotMap {
  /** By name. */
  readonly primaries: ReadonlyMap<string, HostPort>
  /** Replicas too: they can be asked for the map. */
  readonly nodes: readonly HostPort[]
  /** Slot → name of its primary. */
  readonly owners: (string | undefined)[]
}

export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  const tag = close > open + 1 ? key.slice(open + 1, close) : key
  // CRC16, the XMODEM one.
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  }
  return crc & (SLOTS - 1)
}

/**
 * @param reply what CLUSTER SLOTS answered
 * @param asked the host of the node that answered, used where a node announces no host
 */
export function readSlots(reply: unknown, asked: string): SlotMap {
  const primaries = new Map<string, HostPort>()
  const nodes = new Map<string, HostPort>()
  const owners: (string | undefined)[] = new Array(SLOTS).fill(undefined)
  for (const range of listOf(reply)) {
    const [first, last, ...members] = listOf(range)
    const [primary, ...replicas] = members.map(member => addressOf(member, asked))
    for (const node of [primary, ...replicas]) if (node !== undefined) nodes.set(nameOf(node), node)
    if (primary === undefined) continue
    primaries.set(nameOf(primary), primary)
    owners.fill(nameOf(primary), Number(first), Number(last) + 1)
  }
  return { primaries, nodes: [...nodes.values()], owners }
}

/** `host:port` of a MOVED; without a host: that of the node that answered. Undefined: it does not know. */
export function readTarget(text: string, asked: string): HostPort | undefined {
  const colon = text.lastIndexOf(':')
  return addressOf([text.slice(0, colon), text.slice(colon + 1)], asked)
}

function addressOf(member: unknown, asked: string): HostPort | undefined {
  const [host, port] = listOf(member)
  if (host === '?' || !(Number(port) > 0)) return undefined
  return { host: host === null || host === '' ? asked : String(host), port: Number(port) }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
