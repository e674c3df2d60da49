/**
 * The networks around an address: of IPv4 the /24; of IPv6 the /56, which a household gets, and the /48, which a company or a rented
 * server gets. A network's key is a beginning of the address's own key (`client-address.ts`), so it costs no parsing. Pure.
 */

const V6_END = '::/64'

export function isV6(address: string): boolean {
  return address.endsWith(V6_END)
}

/** False for the name of a peer that is no IP address, such as a local socket's. */
export function isV4(address: string): boolean {
  const first = address.charCodeAt(0)
  return first >= 48 && first <= 57 && address.includes('.')
}

/** Of an IPv4 address: `203.0.113`. */
export function v4Network(address: string): string {
  return address.slice(0, address.lastIndexOf('.'))
}

/** Of an IPv6 address: `2001:db8:1:ab`, where the address's fourth group is between ab00 and abff; `2001:db8:1:` below 100. */
export function v6Home(address: string): string {
  return address.slice(0, Math.max(thirdColon(address) + 1, address.length - V6_END.length - 2))
}

/** Of an IPv6 address: `2001:db8:1`. */
export function v6Site(address: string): string {
  return address.slice(0, thirdColon(address))
}

/** The widest of an address's networks as people write it: `203.0.113.0/24`, `2001:db8:1::/48`. Undefined: the peer is no IP address. */
export function networkOf(address: string): string | undefined {
  if (isV6(address)) return `${v6Site(address)}::/48`
  return isV4(address) ? `${v4Network(address)}.0/24` : undefined
}

function thirdColon(address: string): number {
  return address.indexOf(':', address.indexOf(':', address.indexOf(':') + 1) + 1)
}
