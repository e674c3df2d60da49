/**
 * Questions to payment providers, in lanes: a provider that is silent or slow delays the questions of its own lane, and no others. A round
 * takes of every lane as much as it has room for, and waits for the quick answers only: a question that takes longer than `QUICK_MS` goes
 * on beside the rounds that follow, and is not asked a second time meanwhile.
 *
 * Bounded: in a lane, `BEGUN_MAX` questions begin in a round, and `OPEN_MAX` are under way. A question brings its own deadline. What one
 * fails with is thrown at the end of a round, this one or the next, and never keeps the others from being asked.
 */

import type { Clock } from '../../base/clock.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'

interface Room<Lane> {
  readonly lane: Lane
  readonly room: number
}

interface ProviderLanesOptions<Lane, Question> {
  readonly clock: Clock
  readonly lanes: readonly Lane[]
  /**
   * What is due, in each lane at most as much as it has room for, without the questions that are under way. All lanes are named, also those
   * without room: what belongs to one of them belongs to no other.
   */
  readonly take: (rooms: readonly Room<Lane>[], without: readonly string[]) => Promise<readonly Question[]>
  /** Nothing is asked there: what belongs to the lane is settled by others. */
  readonly isIdle?: (lane: Lane) => boolean
  readonly laneOf: (question: Question) => Lane
  readonly ask: (question: Question) => Promise<void>
}

const BEGUN_MAX = 64
const OPEN_MAX = 256
const QUICK_MS = 250

export class ProviderLanes<Lane, Question extends { readonly id: string }> {
  readonly #options: ProviderLanesOptions<Lane, Question>
  readonly #timeout: ReturnType<typeof createSharedTimeout>
  /** Under way, by lane. */
  readonly #open: ReadonlyMap<Lane, Set<string>>
  #failure: { readonly error: unknown } | undefined

  constructor(options: ProviderLanesOptions<Lane, Question>) {
    this.#options = options
    this.#timeout = createSharedTimeout({ clock: options.clock, ms: QUICK_MS })
    this.#open = new Map(options.lanes.map(lane => [lane, new Set<string>()]))
  }

  /** One round at a time. True when more may be waiting. */
  async round(): Promise<boolean> {
    const rooms: Room<Lane>[] = []
    for (const [lane, open] of this.#open) {
      const isIdle = this.#options.isIdle?.(lane) ?? false
      rooms.push({ lane, room: isIdle ? 0 : Math.min(BEGUN_MAX, OPEN_MAX - open.size) })
    }
    let more = false
    if (rooms.some(({ room }) => room > 0)) {
      const { take, laneOf } = this.#options
      const taken = await take(
        rooms,
        [...this.#open.values()].flatMap(open => [...open]),
      )
      await this.#timeout(Promise.all(taken.map(question => this.#ask(question))))
      const counts = Map.groupBy(taken, laneOf)
      more = rooms.some(({ lane, room }) => room > 0 && counts.get(lane)?.length === room)
    }
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure.error
    return more
  }

  /** Never rejects. */
  async #ask(question: Question): Promise<void> {
    const open = this.#open.get(this.#options.laneOf(question))
    open?.add(question.id)
    try {
      await this.#options.ask(question)
    } catch (error) {
      this.#failure ??= { error }
    }
    open?.delete(question.id)
  }
}
