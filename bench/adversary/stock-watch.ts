/** How many units are left, as a page sees it: read again and again, told to those who wait for a unit. */

import type { Clock } from '../../src/base/clock.ts'
import type { Web } from './web.ts'

const EVERY_MS = 100

export class StockWatch {
  left = 0
  readonly #waiting = new Set<() => void>()
  readonly #over = new AbortController()

  constructor(web: Web, sale: string, clock: Clock) {
    void this.#watch(web, sale, clock)
  }

  /** Resolves when units are left; false: the sale is over. */
  async returned(): Promise<boolean> {
    while (this.left === 0 && !this.#over.signal.aborted) await new Promise<void>(wake => this.#waiting.add(wake))
    return !this.#over.signal.aborted
  }

  stop(): void {
    this.#over.abort()
    this.#wake()
  }

  async #watch(web: Web, sale: string, clock: Clock): Promise<void> {
    while (!this.#over.signal.aborted) {
      const { status, body } = await web.call('GET', `/api/sales/${sale}`, { from: '192.0.2.1' })
      const items = body.items as { left: number }[] | undefined
      if (status !== 0 && items !== undefined) this.left = items[0]!.left
      if (this.left > 0) this.#wake()
      await clock.sleep(EVERY_MS, this.#over.signal)
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }
}
