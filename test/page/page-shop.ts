/** A shop whose pages are visited: a server that lets guests in, an operator who makes sales of every kind, and a browser. */

import { afterAll, beforeAll } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { Texts } from '../../src/domain/texts.ts'
import { openBrowser, type Visitor, type VisitorOptions } from '../harness/browser.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'

interface PageItem {
  readonly name?: string
  readonly units: number
  readonly price?: number
  readonly listPrice?: number
  readonly quantityMax?: number
  readonly attemptsMax?: number
  readonly payWithinSeconds?: number
  readonly image?: string
  readonly texts?: Texts
}

interface PageSale {
  readonly id: string
  readonly path: string
  readonly opensAtMs: number
  readonly items: readonly { readonly id: string }[]
}

export interface PageShop {
  readonly site: Site
  readonly till: Till
  url(): string
  /** Published; opens in so many milliseconds, or has opened so long ago. */
  sale(
    opensInMs: number,
    items: readonly PageItem[],
    more?: {
      name?: string
      lastsMs?: number
      challenge?: string | number
      line?: Readonly<Record<string, unknown>>
      contactFields?: readonly string[]
      texts?: Texts
    },
  ): Promise<PageSale>
  /** A sale that has not opened yet opens in so many milliseconds from now instead: when, in Unix milliseconds. */
  openIn(sale: PageSale, ms: number): Promise<number>
  /** Nothing is on sale any more. */
  endAll(): Promise<void>
  /** Somebody else orders. */
  take(sale: PageSale, buyer: string, quantity: number, more?: object): Promise<string>
  orders(sale: PageSale): Promise<readonly { readonly id: string; readonly buyer: string; readonly state: string }[]>
}

const CURRENCY = 'CNY'

export async function openPageShop(
  playground: Playground,
  env: Readonly<Record<string, string>> = {},
): Promise<PageShop> {
  const site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on', ...env },
  })
  const url = () => site.url()
  const till = new Till(url)
  const made: string[] = []
  return {
    site,
    till,
    url,
    async sale(
      opensInMs,
      items,
      { name = 'Autumn evening', lastsMs = 3_600_000, challenge = 'off', line, contactFields, texts } = {},
    ) {
      const opensAtMs = Math.round(systemClock.now() + opensInMs)
      const sale = (await till.operator('POST', '/sales', {
        name,
        opensAt: toRfc3339(opensAtMs),
        closesAt: toRfc3339(opensAtMs + lastsMs),
        challenge,
        ...(line !== undefined && { line }),
        ...(contactFields !== undefined && { contactFields }),
        ...(texts !== undefined && { texts }),
        items: items.map(({ price = 199_900, listPrice, name: itemName = 'Hand-thrown teapot', ...item }) => ({
          name: itemName,
          price: { amount: price, currency: CURRENCY },
          ...(listPrice !== undefined && { listPrice: { amount: listPrice, currency: CURRENCY } }),
          ...item,
        })),
      })) as unknown as { id: string; items: { id: string }[] }
      await till.operator('POST', `/sales/${sale.id}/publish`)
      made.push(sale.id)
      return { id: sale.id, path: `/s/${sale.id}`, opensAtMs, items: sale.items }
    },
    async openIn({ id }, ms) {
      const opensAtMs = Math.round(systemClock.now() + ms)
      await till.operator('PATCH', `/sales/${id}`, { opensAt: toRfc3339(opensAtMs) })
      return opensAtMs
    },
    async endAll() {
      for (const id of made.splice(0)) await till.operator('POST', `/sales/${id}/end`)
    },
    async take({ id, items: [item] }, buyer, quantity, more = {}) {
      const post = async (path: string, token: string, body: unknown) => {
        const response = await fetch(`${url()}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) },
          body: JSON.stringify(body),
        })
        if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
        return (await response.json()) as Record<string, string>
      }
      const { token = '' } = await post('/api/session', '', { buyer })
      const { ticket = '' } = await post(`/api/sales/${id}/items/${item?.id}/ticket`, token, {})
      const order = await post(`/api/sales/${id}/items/${item?.id}/orders`, ticket, { quantity, ...more })
      return order.id ?? ''
    },
    async orders(sale) {
      const { orders } = await till.operator('GET', `/sales/${sale.id}/orders?limit=100`)
      return orders as { id: string; buyer: string; state: string }[]
    },
  }
}

interface PageStage {
  readonly shop: PageShop
  newVisitor(options?: VisitorOptions): Promise<Visitor>
}

/** One shop and one browser for all tests of a file, or of a `describe`. */
export function pageStage(env: Readonly<Record<string, string>> = {}): PageStage {
  const playground = new Playground()
  let shop: PageShop | undefined
  let browser: Awaited<ReturnType<typeof openBrowser>> | undefined
  beforeAll(async () => {
    shop = await openPageShop(playground, env)
    browser = await openBrowser(playground)
  })
  afterAll(() => playground.undo())
  return {
    get shop() {
      return shop!
    },
    newVisitor: options => browser!.visitor(() => shop!.url(), options),
  }
}
