/** The settings of the rate limits: what an address, the networks around it, a buyer and an item may ask, and who counts. */

import { z } from 'zod'
import { type NetworkRates, RATE_COUNT_MAX, type Rate, showRate } from '../../admission/rate-limit-policy.ts'
import { rate, setting, type Texts, whole } from './setting.ts'

const CALLS_PER_ADDRESS_TIMES = 5
const CALLS_PER_BUYER_TIMES = 10
const LISTS_PER_BUYER_TIMES = 2
/** A phone has a /64 of its own: 256 of them may be in one /56. */
const PER_HOME_TIMES = 4
const PER_NETWORK_TIMES = 20

/** A rate so many times as high. */
const moreOf = ({ count, windowMs, burst }: Rate, times: number): Rate => {
  const more = (least: number) => Math.min(least * times, RATE_COUNT_MAX)
  return { count: more(count), windowMs, ...(burst !== undefined && { burst: more(burst) }) }
}

/** The same as text; one that can't be read is reported where it is set. */
const timesRate = (text: string | undefined, times: number): string => {
  const { data } = rate.safeParse(text)
  return showRate(data && moreOf(data, times))
}
const hasRedis = (texts: Texts) => texts.REDIS_URL !== undefined

/** For all calls of buyers together: as many times the limit of an address as by default for orders. */
export function networkRatesOfCalls(perAddress: Rate | undefined): NetworkRates | undefined {
  if (perAddress === undefined) return undefined
  return {
    v4Network: moreOf(perAddress, PER_NETWORK_TIMES),
    v6Subnet: perAddress,
    v6Home: moreOf(perAddress, PER_HOME_TIMES),
    v6Site: moreOf(perAddress, PER_NETWORK_TIMES),
  }
}

export const RATE_SETTINGS = {
  RATE_PER_ADDRESS: setting({
    about:
      'Requests per address: count/window in any window, or off. `100/1s burst 20` is a bucket instead: 20 at once, 100 a second flow back.',
    schema: rate,
    default: '100/1s',
    show: showRate,
  }),
  RATE_PER_IPV4_24: setting({
    about:
      'Requests from one /24 of IPv4, beside the limit of each address. Unset: 20 times RATE_PER_ADDRESS, or off where that is.',
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_ADDRESS, PER_NETWORK_TIMES),
    show: showRate,
  }),
  RATE_PER_IPV6_64: setting({
    about: 'Requests from one /64 of IPv6, which counts as one address. Unset: as RATE_PER_ADDRESS.',
    schema: rate,
    unset: texts => texts.RATE_PER_ADDRESS,
    show: showRate,
  }),
  RATE_PER_IPV6_56: setting({
    about:
      'Requests from one /56 of IPv6, the most that a household gets. Unset: 4 times RATE_PER_ADDRESS, or off where that is.',
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_ADDRESS, PER_HOME_TIMES),
    show: showRate,
  }),
  RATE_PER_IPV6_48: setting({
    about:
      'Requests from one /48 of IPv6: a company, a rented server, or many phones. Unset: 20 times RATE_PER_ADDRESS, or off where that is.',
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_ADDRESS, PER_NETWORK_TIMES),
    show: showRate,
  }),
  RATE_PER_BUYER: setting({ about: 'Requests per buyer.', schema: rate, default: '5/1s', show: showRate }),
  RATE_PER_ITEM: setting({ about: 'Requests per item.', schema: rate, default: 'off', show: showRate }),
  RATE_TOTAL: setting({ about: 'Requests in all.', schema: rate, default: 'off', show: showRate }),
  RATE_CALLS_PER_ADDRESS: setting({
    about:
      'All calls of buyers together per address, in each process: lists, sign-in, payments, repeated orders, handshakes. Whole networks have as many times that as for orders. Unset: five times RATE_PER_ADDRESS, or off where that is.',
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_ADDRESS, CALLS_PER_ADDRESS_TIMES),
    show: showRate,
  }),
  RATE_CALLS_PER_BUYER: setting({
    about: 'The same per buyer. Unset: ten times RATE_PER_BUYER, or off where that is.',
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_BUYER, CALLS_PER_BUYER_TIMES),
    show: showRate,
  }),
  RATE_LISTS_PER_BUYER: setting({
    about:
      "Lists of a buyer's own orders per buyer, in each process; one order by its id is no list. Unset: twice RATE_PER_BUYER, or off where that is.",
    schema: rate,
    unset: texts => timesRate(texts.RATE_PER_BUYER, LISTS_PER_BUYER_TIMES),
    show: showRate,
  }),
  SOCKETS_PER_ADDRESS: setting({
    about:
      'Open live connections per address, in each process. Many buyers may share one address (offices, phone networks).',
    schema: whole(1, 10_000),
    default: '1000',
    show: Number,
  }),
  RATE_SCOPE: setting({
    about:
      'cluster: limits hold over all edges together, counted in Redis. edge: each edge counts for itself. Unset: cluster with REDIS_URL.',
    schema: z.enum(['edge', 'cluster'], 'must be edge or cluster'),
    unset: texts => (hasRedis(texts) ? 'cluster' : 'edge'),
    conflict: (texts, scope) =>
      scope === 'cluster' && !hasRedis(texts)
        ? 'RATE_SCOPE=cluster needs REDIS_URL: limits over all edges are counted in Redis'
        : undefined,
  }),
  RATE_EDGES: setting({
    about: 'Among how many edges limits are divided at the start, as long as Redis has not been reached.',
    schema: whole(1, 1024),
    default: '4',
    applies: texts => texts.RATE_SCOPE === 'cluster',
  }),
}
