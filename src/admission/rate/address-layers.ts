/**
 * Which limits an address counts against: its own, those of the networks around it, and the total; the narrowest first. A whole network
 * shares its allowance, so an attacker who owns a /48 does not have 65,536 of them.
 *
 * An IPv6 address is its /64 everywhere. The /64 counts under the limit per address, unless it has a rate of its own. Does not count.
 */

import { isV4, isV6, v4Network, v6Home, v6Site } from '../networks.ts'
import { type NetworkRates, type Rate, type RatePolicy, showRate } from '../rate-limit-policy.ts'

export interface Layer<L> {
  readonly limit: L
  readonly keyOf: (address: string) => string
}

interface LayerRates {
  readonly perAddress: Rate | undefined
  readonly networks?: NetworkRates | undefined
  readonly total: Rate | undefined
}

/** A crowd of 100,000 in the same second is the case we are made for: each has a slot. */
export const PEOPLE_MAX = 131_072
/** Each of 32,768 networks has a slot; more of them share some (`sliding-window.ts`), and their allowances are large. */
const NETWORKS_MAX = 32_768

const itself = (address: string) => address
const everything = () => ''

/** @param make undefined where there is no rate */
export function addressLayers<L>(
  make: (policy: RatePolicy, rate: Rate | undefined, keysMax: number) => L | undefined,
  { perAddress, networks, total }: LayerRates,
): (address: string) => readonly Layer<L>[] {
  const layer = (limit: L | undefined, keyOf: Layer<L>['keyOf']) => (limit === undefined ? [] : [{ limit, keyOf }])
  const ofAddress = make('per-address', perAddress, PEOPLE_MAX)
  const hasOwnRate = networks !== undefined && showRate(networks.v6Subnet) !== showRate(perAddress)
  const ofSubnet = hasOwnRate ? make('per-subnet', networks.v6Subnet, PEOPLE_MAX) : ofAddress
  const all = layer(make('total', total, 1), everything)

  const v4 = [
    ...layer(ofAddress, itself),
    ...layer(make('per-network', networks?.v4Network, NETWORKS_MAX), v4Network),
    ...all,
  ]
  const v6 = [
    ...layer(ofSubnet, itself),
    ...layer(make('per-home', networks?.v6Home, NETWORKS_MAX), v6Home),
    ...layer(make('per-site', networks?.v6Site, NETWORKS_MAX), v6Site),
    ...all,
  ]
  const others = [...layer(ofAddress, itself), ...all]
  return address => (isV6(address) ? v6 : isV4(address) ? v4 : others)
}
