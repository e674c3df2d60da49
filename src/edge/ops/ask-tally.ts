/**
 * How this process answered requests for orders, by sale: the first half of the funnel. Counting is in memory and cheap enough for every refusal;
 * once a second what has changed is written to the ledger, where all processes' counts of a sale come together.
 *
 * What is written is the whole count under a name of this process's own, so a write whose outcome is unknown is written again. A
 * process that is killed loses the counts of its last second. Bounded: when `SALES_MAX` sales are counted, those that are written are
 * forgotten, and what is counted of them later is counted under another name.
 */

import type { Clock } from '../../base/clock.ts'
import type { Counted } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { AskCounts, Asks } from '../../ledger/ask-counts.ts'

type Outcome = Counted['order_asks'][number]

interface Tally extends Asks {
  readonly sale: SaleId
  /** The name it is written under. */
  readonly process: string
  readonly sinceMs: number
  asked: number
  limited: number
  soldOut: number
  refused: number
  isWritten: boolean
}

const SALES_MAX = 1_000
const STEPS: Readonly<Partial<Record<Outcome, 'limited' | 'soldOut' | 'ordered'>>> = {
  placed: 'ordered',
  reserved: 'ordered',
  same: 'ordered',
  sold_out: 'soldOut',
  not_enough: 'soldOut',
  rate_limited: 'limited',
}

export class AskTally {
  readonly #parts: { readonly askCounts: AskCounts; readonly clock: Clock; readonly random: Random }
  readonly #tallies = new Map<SaleId, Tally>()
  /** Of sales that are counted from now on. */
  #process: string

  constructor(parts: { readonly askCounts: AskCounts; readonly clock: Clock; readonly random: Random }) {
    this.#parts = parts
    this.#process = nameFrom(parts.random)
  }

  /** The sale must exist. */
  count(sale: SaleId, outcome: Outcome): void {
    const tally = this.#tallies.get(sale) ?? this.#add(sale)
    if (tally === undefined) return
    const step = STEPS[outcome] ?? 'refused'
    tally.asked += 1
    if (step !== 'ordered') tally[step] += 1
    tally.isWritten = false
  }

  /** Once a second, and at the end. */
  async round(): Promise<void> {
    const changed = [...this.#tallies.values()].filter(tally => !tally.isWritten)
    if (changed.length > 0) {
      for (const tally of changed) tally.isWritten = true
      try {
        for (const [process, tallies] of Map.groupBy(changed, tally => tally.process))
          await this.#parts.askCounts.save(process, tallies)
      } catch (error) {
        for (const tally of changed) tally.isWritten = false
        throw error
      }
    }
    if (this.#tallies.size < SALES_MAX) return
    for (const { sale, isWritten } of this.#tallies.values()) if (isWritten) this.#tallies.delete(sale)
    this.#process = nameFrom(this.#parts.random)
  }

  /** By this process alone. */
  own(sale: SaleId): Asks & { readonly sinceMs: number } {
    const { asked, limited, soldOut, refused, sinceMs } = this.#tallies.get(sale) ?? this.#emptyOf(sale)
    return { asked, limited, soldOut, refused, sinceMs }
  }

  /** By all processes: this one up to now, the others as they last wrote it. */
  async all(sale: SaleId): Promise<Asks & { readonly sinceMs: number }> {
    const { process } = this.#tallies.get(sale) ?? this.#emptyOf(sale)
    const others = await this.#parts.askCounts.ofOthers(sale, process)
    const own = this.own(sale)
    return {
      sinceMs: Math.min(own.sinceMs, others.sinceMs ?? own.sinceMs),
      asked: own.asked + others.asked,
      limited: own.limited + others.limited,
      soldOut: own.soldOut + others.soldOut,
      refused: own.refused + others.refused,
    }
  }

  #add(sale: SaleId): Tally | undefined {
    if (this.#tallies.size >= SALES_MAX) return undefined
    const tally = this.#emptyOf(sale)
    this.#tallies.set(sale, tally)
    return tally
  }

  #emptyOf(sale: SaleId): Tally {
    const sinceMs = this.#parts.clock.now()
    return { sale, process: this.#process, sinceMs, asked: 0, limited: 0, soldOut: 0, refused: 0, isWritten: true }
  }
}

function nameFrom(random: Random): string {
  return Buffer.from(random.bytes(8)).toString('hex')
}
