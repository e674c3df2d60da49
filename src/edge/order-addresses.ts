/**
 * Recognises `/api/sales/{sale}/items/{item}/orders` in a request's URL, without a regular expression, and caches the result: a crowd asks
 * at a handful of addresses, and a refusal costs noticeably less without new strings cut out of each URL.
 *
 * Bounded: a number of addresses of a bounded length. More of them empty the cache, which costs no more than parsing again.
 */

interface OrderAddress {
  readonly sale: string
  readonly item: string
}

const SALES = '/api/sales/'
const ITEMS = '/items/'
const ORDERS = '/orders'
const REMEMBERED_MAX = 1024
/** Longer URLs are not cached: host and two ids are shorter. */
const URL_LENGTH_MAX = 256

/** Sale and item of a URL, or undefined where it is no address of orders. Does not check that they are ids. */
export function createOrderAddresses(): (url: string) => OrderAddress | undefined {
  const remembered = new Map<string, OrderAddress>()
  return url => {
    const known = remembered.get(url)
    if (known !== undefined) return known
    const address = takeApart(pathOf(url))
    if (address === undefined || url.length > URL_LENGTH_MAX) return address
    if (remembered.size >= REMEMBERED_MAX) remembered.clear()
    remembered.set(url, address)
    return address
  }
}

/** The part between the host and the query. */
export function pathOf(url: string): string {
  const from = url.indexOf('/', 'https://'.length)
  const to = url.indexOf('?', from)
  return from < 0 ? '/' : to < 0 ? url.slice(from) : url.slice(from, to)
}

function takeApart(path: string): OrderAddress | undefined {
  if (!path.startsWith(SALES) || !path.endsWith(ORDERS)) return undefined
  const saleEnd = path.indexOf('/', SALES.length)
  const itemAt = saleEnd + ITEMS.length
  const itemEnd = path.length - ORDERS.length
  if (itemAt >= itemEnd || !path.startsWith(ITEMS, saleEnd)) return undefined
  return { sale: path.slice(SALES.length, saleEnd), item: path.slice(itemAt, itemEnd) }
}
