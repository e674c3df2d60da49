/**
 * Buyers who behave, while others do not: each fetches a ticket, buys, looks at the sale and at the own orders, and comes back as
 * somebody else. Whatever they hear that is not what they asked for is an error; how long they waited is kept.
 */

import { systemClock } from '../../src/base/clock.ts'
import { meanwhile } from './crowd.ts'
import type { Shop, ShopSale } from './shop.ts'

interface Manners {
  readonly asks: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Everything that was not as it should be, in words. */
  readonly errors: readonly string[]
}

const BUYERS_AT_ONCE = 6
const BREATH_MS = 5

/** @param name of the crowd: its buyers are nobody else's */
export function politeCrowd(url: string, shop: Shop, sale: ShopSale, name: string) {
  const tookMs: number[] = []
  const errors: string[] = []
  let leaving = false
  let came = 0

  async function timed<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    const fromMs = systemClock.elapsed()
    try {
      return await act()
    } catch (error) {
      errors.push(`${what}: ${error}`)
      return undefined
    } finally {
      tookMs.push(systemClock.elapsed() - fromMs)
    }
  }

  async function read(path: string): Promise<void> {
    const response = await fetch(url + path)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${response.status} ${text}`)
  }

  async function buyer(): Promise<void> {
    while (!leaving) {
      const item = sale.items[0]!.id
      const ticket = await timed('ticket', () => shop.ticket(`${name}-${came++}`, sale.id, item))
      if (ticket === undefined) continue
      await timed('order', async () => {
        const { answer } = await shop.order(ticket, 1)
        if (answer.kind !== 'placed') throw new Error(answer.kind)
      })
      await timed('sale', () => read(`/api/sales/${sale.id}`))
      await timed('time', () => read('/api/time'))
      await systemClock.sleep(BREATH_MS)
    }
  }

  const all = meanwhile(Promise.all(Array.from({ length: BUYERS_AT_ONCE }, buyer)))
  return {
    /** How often somebody was answered so far. */
    asks: () => tookMs.length,
    /** Everybody finishes what they are at, and goes home. */
    async leave(): Promise<Manners> {
      leaving = true
      await all
      const sorted = tookMs.toSorted((a, b) => a - b)
      const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN)
      return { asks: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), errors }
    },
  }
}
