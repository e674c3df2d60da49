/**
 * One Redis server that takes writes: scripts and single commands. With `replica` durability (E11) a script whose answer promises something
 * goes out together with `WAIT`, on one connection; everything else has a connection of its own then, so that nobody's look waits behind
 * a replica.
 *
 * States: as its links (down ⇄ up, closed at the end); held, while whoever watches over it says that no script may be run there.
 */

import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { heldFault, isNoScript, shortWaitFault } from './faults.ts'
import { Link, type LinkOptions } from './link.ts'
import type { Durability, Primary } from './redis-connection.ts'
import { type Address, nameOf } from './redis-url.ts'
import type { Script } from './script.ts'

/** What every connection to a server is made with. */
export interface Dealings {
  readonly clock: Clock
  readonly log: Log
  readonly timeoutMs: number
  readonly durability: Durability
  readonly replicas: number
}

type Arguments = readonly (string | number)[]

export class Server implements Primary {
  readonly #dealings: Dealings
  readonly #main: Link
  readonly #beside: Link
  readonly #wait: string[]
  #held: string | undefined

  constructor(dealings: Dealings, address: LinkOptions['address'], onUp?: LinkOptions['onUp']) {
    this.#dealings = dealings
    const { clock, log, timeoutMs, durability, replicas } = dealings
    const link = (name: string) =>
      new Link({ address, clock, log, timeoutMs, name, ...(onUp === undefined ? {} : { onUp }) })
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
    const { durability, replicas } = this.#dealings
    if (durability !== 'replica') return this.run(script, keys, args)
    const [reply, reached] = await this.#evaluate(this.#main, script, keys, args, this.#wait)
    // Not a number: the server took no WAIT, because it stopped being the primary right behind the script.
    if (!(Number(reached) >= replicas)) throw shortWaitFault(script.name, Number(reached) || 0, replicas)
    return reply
  }

  async command(args: readonly string[]): Promise<unknown> {
    const [reply] = await this.#beside.send(args[0] ?? '', [[...args]])
    return reply
  }

  /** Another server is where this one was: its connections are ended, unless they lead there already. */
  moveTo(address: Pick<Address, 'host' | 'port'>): void {
    for (const link of [this.#main, this.#beside])
      if (link.isUp() && link.at() !== nameOf(address)) link.drop('another server is the primary')
  }

  async close(): Promise<void> {
    await Promise.all([this.#main.close(), this.#beside.close()])
  }

  /** Hands the text in on NOSCRIPT: nothing had happened. */
  async #evaluate(link: Link, script: Script, keys: readonly string[], args: Arguments, ...then: string[][]) {
    if (this.#held !== undefined) throw heldFault(script.name, this.#held)
    const tail = [String(keys.length), ...keys, ...args.map(String)]
    try {
      return await link.send(script.name, [['EVALSHA', script.digest, ...tail], ...then])
    } catch (error) {
      if (!isNoScript(error)) throw error
      return link.send(script.name, [['EVAL', script.text, ...tail], ...then])
    }
  }
}
