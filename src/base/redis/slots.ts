/**
 * How a Redis Cluster spreads keys: 16384 slots by the hash of what stands between braces, and who has which slot, as one of its nodes
 * tells. Pure. What a node does not know (a slot without an owner, an owner without an address) is left out.
 */

import type { Address } from './redis-url.ts'
import { nameOf } from './redis-url.ts'

export const SLOTS = 16_384

/** A node that is asked by the address the others announce. */
export type NodeAddress = Pick<Address, 'host' | 'port'>

export interface SlotMap {
  /** By name. */
  readonly primaries: ReadonlyMap<string, NodeAddress>
  /** Replicas too: whoever may know the map. */
  readonly nodes: readonly NodeAddress[]
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
 * @param asked the host of the node that answered: one that announces no host of its own is reached there
 */
export function readSlots(reply: unknown, asked: string): SlotMap {
  const primaries = new Map<string, NodeAddress>()
  const nodes = new Map<string, NodeAddress>()
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

/** `host:port`, as it stands in a MOVED; without a host: the one of the node that said it. Undefined: it does not know. */
export function readTarget(text: string, asked: string): NodeAddress | undefined {
  const colon = text.lastIndexOf(':')
  return addressOf([text.slice(0, colon), text.slice(colon + 1)], asked)
}

function addressOf(member: unknown, asked: string): NodeAddress | undefined {
  const [host, port] = listOf(member)
  if (host === '?' || !(Number(port) > 0)) return undefined
  return { host: host === null || host === '' ? asked : String(host), port: Number(port) }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
