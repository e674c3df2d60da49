/**
 * Whom this process has turned away to keep the crowd civil, and why: in all, by network, and by the claims that the configuration names.
 * Counting is in memory and bounded (`top-list.ts`). What is shown is the last ten to twenty minutes: two generations, of which the older is
 * dropped. Every few seconds the counts are written to the ledger, where those of all processes come together.
 *
 * What is written is the whole count under a name of this process's own, so a write whose outcome is unknown is written again. Does not decide
 * anything, and does not see a buyer's name.
 */

import { z } from 'zod'
import { networkOf } from '../../admission/networks.ts'
import type { Clock } from '../../base/clock.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { RefusalCounts } from '../../ledger/refusal-counts.ts'
import { REFUSAL_REASONS, type RefusalReason } from '../../wire/abuse/refusal-reasons.ts'
import { type Top, TopList } from './top-list.ts'

type Claims = Readonly<Record<string, unknown>>

interface Generation {
  readonly sinceMs: number
  readonly reasons: Uint32Array
  readonly networks: TopList
  readonly claims: TopList
}

interface Parts {
  readonly refusalCounts: RefusalCounts
  /** Claims of the shop's token that are counted. */
  readonly abuseClaims: readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
}

const GENERATION_MS = 600_000
const NETWORKS_MAX = 512
const CLAIMS_MAX = 256
/** Of each list so many are written and shown. */
const SHOWN_MAX = 100
const VALUE_LENGTH_MAX = 64
const TEXT_LENGTH_MAX = 200

const topSchema = z.object({
  key: z.string().max(TEXT_LENGTH_MAX),
  total: z.int().min(0),
  error: z.int().min(0),
  reasons: z.array(z.int().min(0)).length(REFUSAL_REASONS.length),
})
/** Another version may count other reasons: what does not fit is left out. */
const savedSchema = z.object({
  sinceMs: z.number(),
  names: z.literal(REFUSAL_REASONS.join()),
  reasons: z.array(z.int().min(0)).length(REFUSAL_REASONS.length),
  networks: z.array(topSchema).max(SHOWN_MAX),
  claims: z.array(topSchema).max(SHOWN_MAX),
})
type Saved = Omit<z.infer<typeof savedSchema>, 'names'>

export class RefusalTally {
  readonly #parts: Parts
  readonly #process: string
  #current: Generation
  #before: Generation | undefined
  #isWritten = true

  constructor(parts: Parts) {
    this.#parts = parts
    this.#process = Buffer.from(parts.random.bytes(8)).toString('hex')
    this.#current = this.#begin()
  }

  /**
   * @param address as `client-address.ts` writes it
   * @param claims of a token that was verified, where there was one: others could be made up
   */
  count(reason: RefusalReason, address: string, claims?: Claims): void {
    const at = REFUSAL_REASONS.indexOf(reason)
    this.#parts.meters.count('refusals', reason)
    const { reasons, networks, claims: ofClaims } = this.#generation()
    reasons[at] = reasons[at]! + 1
    const network = networkOf(address)
    if (network !== undefined) networks.count(network, at)
    if (claims !== undefined)
      for (const name of this.#parts.abuseClaims) {
        const value = claims[name]
        const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        if (isPlain && String(value).length <= VALUE_LENGTH_MAX) ofClaims.count(`${name}=${value}`, at)
      }
    this.#isWritten = false
  }

  /** Every few seconds. */
  async round(): Promise<void> {
    if (this.#isWritten) return
    this.#isWritten = true
    try {
      const names = REFUSAL_REASONS.join()
      await this.#parts.refusalCounts.save(this.#process, { ...this.#own(), names })
    } catch (error) {
      this.#isWritten = false
      throw error
    }
  }

  /** By all processes: this one up to now, the others as they last wrote it. */
  async all(): Promise<Saved> {
    const others = await this.#parts.refusalCounts.ofOthers(this.#process)
    return merged([this.#own(), ...others.flatMap(counts => savedSchema.safeParse(counts).data ?? [])])
  }

  #own(): Saved {
    this.#generation()
    return merged([this.#current, ...(this.#before === undefined ? [] : [this.#before])].map(savedOf))
  }

  #generation(): Generation {
    const ageMs = this.#parts.clock.now() - this.#current.sinceMs
    // A clock that was set back begins a new generation too.
    if (ageMs >= 0 && ageMs < GENERATION_MS) return this.#current
    this.#before = ageMs < 2 * GENERATION_MS ? this.#current : undefined
    this.#current = this.#begin()
    return this.#current
  }

  #begin(): Generation {
    const count = REFUSAL_REASONS.length
    return {
      sinceMs: this.#parts.clock.now(),
      reasons: new Uint32Array(count),
      networks: new TopList(NETWORKS_MAX, count),
      claims: new TopList(CLAIMS_MAX, count),
    }
  }
}

function savedOf({ sinceMs, reasons, networks, claims }: Generation): Saved {
  const list = (of: TopList) => of.top(SHOWN_MAX).map(top => ({ ...top, reasons: [...top.reasons] }))
  return { sinceMs, reasons: [...reasons], networks: list(networks), claims: list(claims) }
}

function merged(all: readonly Saved[]): Saved {
  return {
    sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)),
    reasons: added(all.map(({ reasons }) => reasons)),
    networks: mergedTops(all.flatMap(({ networks }) => networks)),
    claims: mergedTops(all.flatMap(({ claims }) => claims)),
  }
}

function mergedTops(all: readonly Top[]) {
  return [...Map.groupBy(all, ({ key }) => key)]
    .map(([key, tops]) => ({
      key,
      total: tops.reduce((sum, one) => sum + one.total, 0),
      error: tops.reduce((sum, one) => sum + one.error, 0),
      reasons: added(tops.map(({ reasons }) => reasons)),
    }))
    .sort((a, b) => b.total - a.total)
    .slice(0, SHOWN_MAX)
}

function added(lists: readonly (readonly number[])[]): number[] {
  return REFUSAL_REASONS.map((_, at) => lists.reduce((sum, list) => sum + list[at]!, 0))
}
