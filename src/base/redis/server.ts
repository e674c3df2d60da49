/**
 * One Redis server that takes writes: scripts and single commands. With `replica` durability (E11) a script whose answer promises something
 * goes out together with `WAIT`, on one connection; everything else has a connection of its own then, so that no read waits behind
 * a replica. A server does nothing else on a connection that waits, and a WAIT covers everything written there before it: so one is
 * under way at a time, and calls that come meanwhile share the next. A WAIT on another connection covers nothing of this one.
 *
 * States: as its links (down ⇄ up, closed at the end); held, while its monitor forbids scripts there.
 */

import { isNoScript, maybeDone, notDone } from './faults.ts'
import { Link, type LinkOptions } from './link.ts'
import type { Durability, Primary } from './redis-connection.ts'
import type { HostPort } from './redis-url.ts'
import type { Script } from './script.ts'

/** What every connection to a server is made with. */
export interface ServerOptions extends Pick<LinkOptions, 'clock' | 'log' | 'timeoutMs'> {
  readonly durability: Durability
  readonly replicas: number
}

type Arguments = readonly (string | number)[]

interface Waited {
  /** The connection it was sent on. */
  readonly on: number
  /** Replicas that have what was written there before. */
  readonly reached: number
}

export class Server implements Primary {
  readonly #options: ServerOptions
  readonly #main: Link
  readonly #beside: Link
  readonly #wait: string[]
  #held: string | undefined
  /** The WAIT that is not sent yet. Never rejects. */
  #nextWait: Promise<Waited> | undefined
  #waiting: Promise<unknown> = Promise.resolve()

  constructor(options: ServerOptions, address: LinkOptions['address'], onUp?: LinkOptions['onUp']) {
    this.#options = options
    const { clock, log, timeoutMs, durability, replicas } = options
    const link = (name: string) => new Link({ address, clock, log, timeoutMs, name, onUp })
    this.#main = link('commands')
    this.#beside = durability === 'replica' ? link('the rest') : this.#main
    // A replica that does not answer must be a short WAIT, not a silent server.
    this.#wait = ['WAIT', String(replicas), String(Math.ceil(timeoutMs / 2))]
  }

  get name(): string {
    return this.#main.at() ?? 'unknown'
  }

  get connection(): number {
    return this.#main.ups() + this.#beside.ups()
  }

  isUp(): boolean {
    return this.#main.isUp() && this.#beside.isUp()
  }

  hold(why: string | undefined): void {
    this.#held = why
  }

  async run(script: Script, keys: readonly string[], args: Arguments): Promise<unknown> {
    const [reply] = await this.#evaluate(this.#beside, script, keys, args)
    return reply
  }

  async runDurably(script: Script, keys: readonly string[], args: Arguments): Promise<unknown> {
    const { durability, replicas } = this.#options
    if (durability !== 'replica') return this.run(script, keys, args)
    let on = 0
    let covered: Promise<Waited> | undefined
    const [reply] = await this.#evaluate(this.#main, script, keys, args, () => {
      on = this.#main.ups()
      covered = this.#coveredByWait()
    })
    const waited = await covered
    const reached = waited?.on === on ? waited.reached : 0
    if (reached < replicas) throw maybeDone('redis_short_wait', script.name, `on ${reached} of ${replicas} replicas`)
    return reply
  }

  async command(args: readonly string[]): Promise<unknown> {
    const [reply] = await this.#beside.send(args[0] ?? '', [[...args]])
    return reply
  }

  /** The primary is at this address now: connections to another one are ended. */
  moveTo(address: HostPort): void {
    for (const link of [this.#main, this.#beside]) link.keepTo([address], 'another server is the primary')
  }

  async close(): Promise<void> {
    await Promise.all([this.#main.close(), this.#beside.close()])
  }

  #coveredByWait(): Promise<Waited> {
    this.#nextWait ??= this.#waiting.then(async () => {
      this.#nextWait = undefined
      const on = this.#main.ups()
      // No number (it stopped being the primary, for example): nothing is known to be on a replica.
      const reached = this.#main.send('WAIT', [this.#wait]).then(
        ([count]) => Number(count) || 0,
        () => 0,
      )
      this.#waiting = reached
      return { on, reached: await reached }
    })
    return this.#nextWait
  }

  /** Sends the text on NOSCRIPT: nothing had happened. `written` is called in the same turn of the event loop as each of the two is. */
  async #evaluate(link: Link, script: Script, keys: readonly string[], args: Arguments, written?: () => void) {
    if (this.#held !== undefined) throw notDone('redis_held', script.name, `not asked, because ${this.#held}`)
    const tail = [String(keys.length), ...keys, ...args.map(String)]
    const send = (...how: readonly string[]) => {
      const replies = link.send(script.name, [[...how, ...tail]])
      written?.()
      return replies
    }
    try {
      return await send('EVALSHA', script.digest)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return send('EVAL', script.text)
    }
  }
}
