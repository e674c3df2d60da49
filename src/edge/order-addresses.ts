/**
 * Where orders are asked for: takes `/api/sales/{sale}/items/{item}/orders` out of a request's URL by hand, which is cheaper than a regular
 * expression with two captures, and remembers what it took apart. A crowd asks at a handful of addresses; without cutting new strings
 * out of each URL a refusal costs noticeably less.
 *
 * Bounded: so many addresses of a bounded length. Whoever invents more of them makes it forget, which costs no more than taking apart again.
 */

interface OrderAddress {
  readonly sale: string
  readonly item: string
}

const SALES = '/api/sales/'
const ITEMS = '/items/'
const ORDERS = '/orders'
const REMEMBERED_MAX = 1024
/** Of a URL worth remembering: host, two ids, no query to speak of. */
const URL_LENGTH_MAX = 256

/** @returns what a URL names, or undefined where no order is asked for. Whether these are ids is not looked at. */
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

/** What stands between the host and the query. */
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
