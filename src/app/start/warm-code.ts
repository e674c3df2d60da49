/**
 * Before a sale opens, the code that will take its orders is run on made-up ones (`compose-trial.ts`), until an order does not get cheaper any
 * more: a runtime that compiles hot code would otherwise do so in the first seconds of the sale, when an order costs half as much again.
 * Once when a sale is first seen to be ahead, and again shortly before it opens, because code that does not run for a while is thrown away.
 *
 * Guarantees: it ends before the opening, after a bounded time and a bounded number of orders; it rests while anything is sold here. Nothing
 * that fails in it is seen by a buyer: the first orders are slower then.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Registry } from '../../flows/sell/live-item.ts'
import type { LocalView } from '../../gate/local-view.ts'

/** Made-up orders, one bounded lot at a time. */
export interface TrialShop {
  /** Resolves with the number of orders that were answered, all of them as they should be. */
  sellSome(): Promise<number>
}

interface WarmCodeParts {
  readonly openShop: () => TrialShop
  readonly registry: Registry
  readonly view: Pick<LocalView, 'nowMs' | 'shown'>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

export const WARM_EVERY_MS = 1_000
/** The second time. */
const SHORTLY_MS = 8_000
const LASTS_MS_MAX = 4_000
const LOTS_MAX = 60
/** The last moment before the opening is the buyers' own: many wait for it already. */
const ENDS_BEFORE_MS = 500
const RESTS_MS = 250
/** Flat: so many lots in a row, none of them noticeably cheaper than the cheapest before. */
const LOTS_FLAT = 10
const CHEAPER = 0.97

export class CodeWarmer {
  readonly #parts: WarmCodeParts
  #warmedMs: number | undefined

  constructor(parts: WarmCodeParts) {
    this.#parts = parts
  }

  async round(): Promise<void> {
    const { clock, log } = this.#parts
    const leftMs = this.#untilOpening() - ENDS_BEFORE_MS
    if (!(leftMs > 0 && Number.isFinite(leftMs))) return
    const opensMs = clock.elapsed() + leftMs
    const isDue = this.#warmedMs === undefined || (leftMs <= SHORTLY_MS && this.#warmedMs < opensMs - SHORTLY_MS)
    if (!isDue) return
    this.#warmedMs = clock.elapsed()
    try {
      const warmed = await this.#warm(clock.elapsed() + Math.min(leftMs, LASTS_MS_MAX))
      log.info(
        { event: 'code_warm', ...warmed, opensInMs: Math.round(this.#untilOpening()) },
        'the code is warm for the next opening',
      )
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.warn(
        { event: 'code_not_warm', code: error.code, err: error },
        'the code could not be warmed; the first orders are slower',
      )
    }
  }

  async #warm(untilMs: number) {
    const { clock, openShop, signal } = this.#parts
    const shop = openShop()
    const micros: number[] = []
    const fromMs = clock.elapsed()
    let orders = 0
    let sold = this.#soldSoFar()
    while (micros.length < LOTS_MAX && clock.elapsed() < untilMs && !signal.aborted && !isFlat(micros)) {
      const now = this.#soldSoFar()
      if (now !== sold) {
        sold = now
        await clock.sleep(RESTS_MS, signal)
        continue
      }
      const lotFromMs = clock.elapsed()
      const answered = await shop.sellSome()
      orders += answered
      micros.push(((clock.elapsed() - lotFromMs) * 1000) / answered)
    }
    const [first = 0] = micros
    const last = micros.at(-1) ?? 0
    return {
      orders,
      tookMs: Math.round(clock.elapsed() - fromMs),
      firstMicros: Math.round(first),
      lastMicros: Math.round(last),
    }
  }

  /** Until the next opening of an item that this process will sell; infinite when there is none. */
  #untilOpening(): number {
    const { registry, view } = this.#parts
    const nowMs = view.nowMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const { sale } of registry.values())
      if (sale.opensAtMs > nowMs && sale.opensAtMs < nextMs) nextMs = sale.opensAtMs
    return nextMs - nowMs
  }

  /** Moves whenever units are taken here or come back. Only looked at: asked for, all statuses would be read from the gate (`local-view.ts`). */
  #soldSoFar(): number {
    const { registry, view } = this.#parts
    let sum = 0
    for (const { item, queue } of registry.values()) sum += (view.shown(item.id, true)?.version ?? 0) + queue.depth()
    return sum
  }
}

function isFlat(micros: readonly number[]): boolean {
  if (micros.length <= LOTS_FLAT) return false
  const before = Math.min(...micros.slice(0, -LOTS_FLAT))
  return micros.slice(-LOTS_FLAT).every(one => one > before * CHEAPER)
}
