/** The button's place in a waiting line: read from the server, moved by live news, in words for the note under the button. */

import type { Words } from './button-words.ts'
import { type Join, type LineNews, type StampedeClient, StampedeFailure } from './index.ts'

export class ButtonLine {
  own: Join | 'none' | undefined
  readonly #client: StampedeClient
  readonly #sale: string
  readonly #changed: () => void
  #askAtMs = 0

  constructor(client: StampedeClient, sale: string, changed: () => void) {
    this.#client = client
    this.#sale = sale
    this.#changed = changed
  }

  /** Asks when it is time: as often as the last answer said, and rarely for a buyer who is not in line. */
  async look(isOpen: boolean): Promise<void> {
    if (!isOpen) this.own = 'none'
    if (!isOpen || performance.now() < this.#askAtMs) return
    try {
      this.#put(await this.#client.placeInLine(this.#sale))
    } catch (error) {
      if (!(error instanceof StampedeFailure) || error.code === 'no_answer') throw error
      if (error.code !== 'not_in_line') return
      this.own = 'none'
      this.#askAtMs = performance.now() + 30_000
    }
  }

  async join(signal: AbortSignal): Promise<void> {
    this.#put(await this.#client.joinLine(this.#sale, { signal }))
  }

  hear({ sale, state, place, ahead, left }: LineNews): void {
    if (sale !== this.#sale) return
    if (state === 'left') this.own = 'none'
    else if (typeof this.own === 'object') this.own = { ...this.own, state, place, ahead, left }
    // Until when it is the buyer's turn, only the server says; or the buyer has joined on another device.
    if (state !== 'waiting' || typeof this.own !== 'object') this.#askAtMs = 0
    this.#changed()
  }

  /** Of a buyer who is let in. */
  claimBy(): number | undefined {
    const { own } = this
    return typeof own === 'object' && own.claimBy !== undefined ? Date.parse(own.claimBy) : undefined
  }

  text(words: Words): string | undefined {
    const { own } = this
    if (typeof own !== 'object') return undefined
    if (own.ahead === null) return words.drawing(own.number)
    if (own.left === 0) return `${words.ahead(own.ahead)} ${words.soldOutInLine}`
    const { estimate } = own
    const minutes =
      estimate && words.estimate(Math.floor(estimate.fromSeconds / 60), Math.ceil(estimate.toSeconds / 60))
    return minutes === null ? words.ahead(own.ahead) : `${words.ahead(own.ahead)} ${minutes}`
  }

  #put(join: Join): void {
    this.own = join
    this.#askAtMs = performance.now() + join.pollAfterSeconds * 1_000
    this.#changed()
  }
}
