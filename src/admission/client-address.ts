/**
 * The client's address: the key under which a request counts against the limit per address.
 *
 * It is the connection's address. Only if that is a trusted proxy, `X-Forwarded-For` is read, from the right, where our own proxies wrote:
 * trusted proxies are skipped, and the first other address is the client. An entry that is no address ends the reading, and the last good
 * address counts: entries further left may be forged. From an untrusted peer the header is not read at all.
 *
 * Guarantees: one key per IPv4 address, also when written as IPv6 (`::ffff:1.2.3.4`), and one per IPv6 /64, the smallest block that a
 * customer gets; equal addresses in any spelling give equal keys. Work per request is bounded. Does not know ports, names or `Forwarded`.
 */

/** Eight groups of 16 bits; IPv4 in the last two, as IPv6 embeds it. */
interface Address {
  readonly isV4: boolean
  readonly groups: readonly number[]
}

interface Range extends Address {
  /** How many of the 128 bits must be equal. */
  readonly bits: number
}

/** More proxies than any real chain has. */
const HOPS_MAX = 32
/** The longest address, with brackets, a port and some room for a zone. */
const ADDRESS_LENGTH_MAX = 80
const IPV4_MAPPED = '::ffff:'
const REMEMBERED_MAX = 4096

/** @param trustedProxies addresses and CIDR ranges, separated by commas; may be empty */
export function createClientAddress(trustedProxies: string) {
  const trusted = trustedProxies
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(parseRange)
  /** IPv6 peers send many requests over one connection and are slow to parse. */
  const remembered = new Map<string, string>()

  function ofPeer(peer: string): string {
    if (!peer.includes(':')) return peer
    if (peer.startsWith(IPV4_MAPPED) && peer.includes('.') && peer.lastIndexOf(':') < IPV4_MAPPED.length)
      return peer.slice(IPV4_MAPPED.length)
    let key = remembered.get(peer)
    if (key === undefined) {
      const address = parseAddress(peer)
      // Any other name of the peer comes from the server, not from the client.
      key = address === undefined ? peer : keyOf(address)
      if (remembered.size >= REMEMBERED_MAX) remembered.clear()
      remembered.set(peer, key)
    }
    return key
  }

  function isTrusted(address: Address): boolean {
    return trusted.some(range => isWithin(address, range))
  }

  return {
    /** Is the other end of the connection one of our own proxies? */
    isProxy(peer: string): boolean {
      const address = trusted.length === 0 ? undefined : parseAddress(peer)
      return address !== undefined && isTrusted(address)
    },
    /** @param forwardedFor the `X-Forwarded-For` header, several joined by commas, or null */
    of(peer: string, forwardedFor: string | null): string {
      if (trusted.length === 0 || forwardedFor === null) return ofPeer(peer)
      let client = parseAddress(peer)
      if (client === undefined || !isTrusted(client)) return ofPeer(peer)
      let end = forwardedFor.length
      for (let hops = 0; hops < HOPS_MAX && end >= 0; hops++) {
        const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1)
        const entry = forwardedFor.slice(comma + 1, end).trim()
        end = comma
        // Empty elements of a list are ignored (RFC 9110, 5.6.1).
        if (entry === '') continue
        const hop = parseAddress(withoutPort(entry))
        if (hop === undefined) break
        client = hop
        if (!isTrusted(hop)) break
      }
      return keyOf(client)
    },
  }
}

function keyOf({ isV4, groups }: Address): string {
  if (isV4) return `${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.${groups[7]! & 255}`
  return `${groups[0]!.toString(16)}:${groups[1]!.toString(16)}:${groups[2]!.toString(16)}:${groups[3]!.toString(16)}::/64`
}

/** Ranges by their length, so that an address is looked up once per length and not once per range. Keys as `of` gives them. */
export class AddressRanges<T> {
  readonly #byBits = new Map<number, Map<string, T[]>>()

  /** Throws when it is no address and no CIDR range. An IPv6 address stands for its /64, as everywhere. */
  add(entry: string, value: T): void {
    const range = parseRange(entry)
    const bits = range.isV4 ? range.bits : Math.min(range.bits, 64)
    let ofBits = this.#byBits.get(bits)
    if (ofBits === undefined) {
      ofBits = new Map()
      this.#byBits.set(bits, ofBits)
    }
    const key = maskedKey(range, bits)
    ofBits.set(key, [...(ofBits.get(key) ?? []), value])
  }

  /** What was added for each range around this address, the narrowest first. */
  around(key: string): readonly (readonly T[])[] {
    const address = parseAddress(key.endsWith('/64') ? key.slice(0, -3) : key)
    if (address === undefined) return []
    return [...this.#byBits]
      .sort(([a], [b]) => b - a)
      .flatMap(([bits, ofBits]) => {
        const found = ofBits.get(maskedKey(address, bits))
        return found === undefined ? [] : [found]
      })
  }
}

function maskedKey({ isV4, groups }: Address, bits: number): string {
  let key = isV4 ? '4' : '6'
  for (let at = 0; at * 16 < bits; at++) key += `:${groups[at]! >> Math.max(0, at * 16 + 16 - bits)}`
  return key
}

function isWithin(address: Address, range: Range): boolean {
  if (address.isV4 !== range.isV4) return false
  for (let at = 0; at * 16 < range.bits; at++) {
    const ignored = Math.max(0, at * 16 + 16 - range.bits)
    if (address.groups[at]! >> ignored !== range.groups[at]! >> ignored) return false
  }
  return true
}

function parseRange(entry: string): Range {
  const slash = entry.indexOf('/')
  const text = slash < 0 ? entry : entry.slice(0, slash)
  const address = parseAddress(text)
  if (address === undefined) throw new Error(`"${entry}" is not an IP address or a CIDR range like 10.0.0.0/8`)
  if (slash < 0) return { ...address, bits: 128 }
  const inV4 = address.isV4 && !text.includes(':')
  const max = inV4 ? 32 : 128
  const length = entry.slice(slash + 1)
  if (!/^[0-9]{1,3}$/.test(length) || Number(length) > max)
    throw new Error(`"${entry}": the prefix length must lie between 0 and ${max}`)
  const bits = Number(length) + 128 - max
  if (address.isV4 && bits < 96)
    throw new Error(`"${entry}" contains more than IPv4 addresses: write it as an IPv4 range`)
  return { ...address, bits }
}

/** `1.2.3.4:567` and `[::1]:567`; a bare IPv6 address has no port. */
function withoutPort(entry: string): string {
  if (entry.startsWith('[')) return /^\[([^[\]]*)\](:[0-9]{1,5})?$/.exec(entry)?.[1] ?? ''
  const colon = entry.indexOf(':')
  if (colon < 0 || colon !== entry.lastIndexOf(':')) return entry
  return /^[0-9]{1,5}$/.test(entry.slice(colon + 1)) ? entry.slice(0, colon) : ''
}

function parseAddress(text: string): Address | undefined {
  if (text.length > ADDRESS_LENGTH_MAX) return undefined
  if (!text.includes(':')) {
    const value = parseV4(text)
    return value < 0 ? undefined : { isV4: true, groups: [0, 0, 0, 0, 0, 0xffff, value >>> 16, value & 0xffff] }
  }
  const groups = parseV6(text)
  if (groups === undefined) return undefined
  const isV4 = groups[5] === 0xffff && groups.every((group, at) => at >= 5 || group === 0)
  return { isV4, groups }
}

/** The 32 bits, or -1. No leading zeros: some parsers read them as octal. */
function parseV4(text: string): number {
  let value = 0
  let part = -1
  let dots = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 46) {
      if (part < 0 || dots === 3) return -1
      value = value * 256 + part
      part = -1
      dots += 1
      continue
    }
    if (code < 48 || code > 57 || part === 0) return -1
    part = (part < 0 ? 0 : part * 10) + code - 48
    if (part > 255) return -1
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1
}

function parseV6(text: string): number[] | undefined {
  const zone = text.indexOf('%')
  const [head, tail, ...more] = (zone < 0 ? text : text.slice(0, zone)).split('::')
  if (more.length > 0) return undefined
  const left = parseGroups(head!, tail === undefined)
  if (tail === undefined) return left?.length === 8 ? left : undefined
  const right = parseGroups(tail, true)
  if (left === undefined || right === undefined || left.length + right.length > 7) return undefined
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [at, part] of parts.entries()) {
    if (mayEndInV4 && at === parts.length - 1 && part.includes('.')) {
      const value = parseV4(part)
      if (value < 0) return undefined
      groups.push(value >>> 16, value & 0xffff)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined
      groups.push(Number.parseInt(part, 16))
    }
  }
  return groups
}
