/** A site whose server dies and is started again, under another address maybe. Buyers who lost it wait here until it is back. */

import type { Playground } from './playground.ts'
import { Stampede, type StampedeOptions } from './stampede.ts'
import { within } from './until.ts'

const START_AGAIN_MS_MAX = 120_000

export class Site {
  readonly #playground: Playground
  readonly #options: StampedeOptions
  #server: Stampede
  #back = Promise.withResolvers<void>()

  private constructor(playground: Playground, options: StampedeOptions, server: Stampede) {
    this.#playground = playground
    this.#options = options
    this.#server = server
  }

  static async start(playground: Playground, options: StampedeOptions): Promise<Site> {
    return new Site(playground, options, await Stampede.start(playground, options))
  }

  server(): Stampede {
    return this.#server
  }

  url(): string {
    return this.#server.url()
  }

  /** Resolves when a server takes traffic; at once while the one there is has not ended. */
  async whileAway(): Promise<void> {
    if (this.#server.running()) return
    await within('somebody starts the server again', START_AGAIN_MS_MAX, this.#back.promise)
  }

  /** Starts a server on the same folder, after the one before has ended. */
  async startAgain(faultPoints: string): Promise<void> {
    await this.takeOver(await Stampede.start(this.#playground, { ...this.#options, faultPoints }))
  }

  /** Another server is the site from now on. */
  async takeOver(server: Stampede): Promise<void> {
    await server.ready()
    this.#server = server
    const back = this.#back
    this.#back = Promise.withResolvers()
    back.resolve()
  }
}
