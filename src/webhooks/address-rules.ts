/**
 * Which addresses a webhook may be sent to: those of the public internet. Everything that leads into the operator's own networks, to this machine
 * or to a machine that stands for another address (IPv4-mapped, NAT64, 6to4, Teredo) is refused, unless a setting allows its network.
 * After the IANA special-purpose address registries: of IPv6 only global unicast is public at all.
 */

import { BlockList, isIP } from 'node:net'

const REFUSED_V4: readonly (readonly [string, number, string])[] = [
  ['0.0.0.0', 8, 'this host'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'carrier-grade NAT'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'for documentation'],
  ['192.88.99.0', 24, '6to4 relay'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'for benchmarks'],
  ['198.51.100.0', 24, 'for documentation'],
  ['203.0.113.0', 24, 'for documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
]

/** The first that fits gives the reason; what fits none is public only within 2000::/3. */
const REFUSED_V6: readonly (readonly [string, number, string])[] = [
  ['::1', 128, 'loopback'],
  ['::', 128, 'this host'],
  ['::ffff:0:0', 96, 'IPv4-mapped'],
  ['::', 96, 'IPv4-compatible'],
  ['64:ff9b::', 96, 'NAT64'],
  ['64:ff9b:1::', 48, 'NAT64'],
  ['100::', 64, 'discard-only'],
  ['2001::', 32, 'Teredo'],
  ['2001::', 23, 'reserved'],
  ['2001:db8::', 32, 'for documentation'],
  ['2002::', 16, '6to4'],
  ['3fff::', 20, 'for documentation'],
  ['fc00::', 7, 'unique-local'],
  ['fe80::', 10, 'link-local'],
  ['fec0::', 10, 'site-local'],
  ['ff00::', 8, 'multicast'],
]

const PUBLIC_V6 = listOf([['2000::', 3]], 'ipv6')
const V4 = REFUSED_V4.map(([net, bits, why]) => ({ list: listOf([[net, bits]], 'ipv4'), why }))
const V6 = REFUSED_V6.map(([net, bits, why]) => ({ list: listOf([[net, bits]], 'ipv6'), why }))

export interface AddressRules {
  /** Why the address may not be called; undefined: it may. */
  refusal(address: string): string | undefined
  /** Is it in a network that a setting allows? Only there HTTP without TLS is accepted. */
  isAllowed(address: string): boolean
  readonly allowsAny: boolean
  /** The setting's own text. */
  readonly allowed: string
  /** The setting's name, for those who read a refusal. */
  readonly setting: string
}

/** Everything that is not public. */
const ALL_PRIVATE = [...REFUSED_V4, ...REFUSED_V6].map(([net, bits]) => `${net}/${bits}`).join()

/** @param text `off`, `on`, or networks; throws what is wrong with it */
export function parseAddressRules(text: string, setting = 'WEBHOOK_ALLOW_PRIVATE'): AddressRules {
  const networks = text === 'off' ? '' : text === 'on' ? ALL_PRIVATE : text
  const allowed = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const entry of networks.split(',').map(part => part.trim())) {
    if (entry === '') continue
    const [net = '', length, ...more] = entry.split('/')
    const family = familyOf(net)
    const bitsMax = family === 'ipv4' ? 32 : 128
    const bits = length === undefined ? bitsMax : /^[0-9]{1,3}$/.test(length) ? Number(length) : Number.NaN
    if (family === undefined || more.length > 0 || !(bits <= bitsMax))
      throw new Error(`"${entry}" is not off, on, an IP address or a network like 10.0.0.0/8`)
    allowed[family].addSubnet(net, bits, family)
  }

  function isAllowed(address: string): boolean {
    const family = familyOf(address)
    return family !== undefined && allowed[family].check(address, family)
  }

  return {
    isAllowed,
    allowed: text,
    setting,
    allowsAny: allowed.ipv4.rules.length + allowed.ipv6.rules.length > 0,
    refusal(address) {
      const family = familyOf(address)
      if (family === undefined) return 'not an IP address'
      if (isAllowed(address)) return undefined
      const found = (family === 'ipv4' ? V4 : V6).find(({ list }) => list.check(address, family))
      if (found !== undefined) return found.why
      return family === 'ipv4' || PUBLIC_V6.check(address, 'ipv6') ? undefined : 'reserved'
    },
  }
}

/** Undefined also for an address with a zone: it means something on one machine only. */
function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = address.includes('%') ? 0 : isIP(address)
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined
}

function listOf(networks: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [net, bits] of networks) list.addSubnet(net, bits, family)
  return list
}
