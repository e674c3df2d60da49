/**
 * A Redis Cluster: each key lives on the primary of its slot. One pair of connections to every primary that has slots; which these are,
 * one of the nodes is asked every few seconds, and at once when a call shows that the map is old.
 *
 * A server's "elsewhere" is never followed blindly. MOVED: nothing was done, so the call is made once more, at the node that was named
 * (an item is fenced by the server it was built on, E1: on any other it is `stale`). ASK and TRYAGAIN: the slot is on its way and so are its
 * keys; nothing was done, and nothing is, until it has arrived. No second redirect. A slot that nobody has is a server that is away.
 *
 * A map is believed if it is as late as the one before (by the cluster's own epoch) and of a node that calls the cluster whole: one that was
 * cut off tells of old times. One that can't tell is not asked twice.
 * Bounded: nodes, connections, redirects.
 */

import { Fault } from '../fault.ts'
import { awayFault, isOtherKind, MovedFault } from './faults.ts'
import { Link } from './link.ts'
import type { RedisConnection } from './redis-connection.ts'
import { type Address, hostOf, nameOf } from './redis-url.ts'
import { type Dealings, Server } from './server.ts'
import { type NodeAddress, readSlots, readTarget, type SlotMap, slotOf } from './slots.ts'
import { Subscriptions } from './subscriptions.ts'

const NODES_MAX = 1_000
const ASK_EVERY_MS = 2_000
/** However many calls find the map old. */
const ASK_AGAIN_MS = 50
const ASK_ANOTHER_MS = 500
/** So long an older map is not believed, nor one of a cluster that is down. Then it may have been made anew, or be down indeed. */
const OLDER_MS_MAX = 10_000

export function openCluster(seeds: readonly Address[], dealings: Dealings): RedisConnection {
  return new Cluster(seeds, dealings)
}

class Cluster implements RedisConnection {
  readonly database = 0
  readonly durability: Dealings['durability']
  readonly #dealings: Dealings
  /** For everything but the place: one user and one password are good at every node. */
  readonly #seed: Address
  readonly #seeds: readonly Address[]
  readonly #servers = new Map<string, Server>()
  readonly #retiring = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #scout: Link
  readonly #subscriptions: Subscriptions
  readonly #kept: Promise<void>
  #nodes: readonly NodeAddress[] = []
  #owners: (string | undefined)[] | undefined
  #believed = { epoch: 0, atMs: Number.NEGATIVE_INFINITY }
  #turn = 0
  #turnedMs = Number.NEGATIVE_INFINITY
  #wake = new AbortController()

  constructor(seeds: readonly Address[], dealings: Dealings) {
    this.durability = dealings.durability
    this.#dealings = dealings
    this.#seeds = seeds
    this.#seed = seeds[0]!
    const { clock, log, timeoutMs } = dealings
    this.#scout = new Link({ clock, log, timeoutMs, name: 'scout', address: () => this.#nextNode() })
    this.#subscriptions = new Subscriptions({ clock, log, timeoutMs, address: () => this.#nextListener() })
    this.#kept = this.#keepMap()
  }

  run: RedisConnection['run'] = (script, keys, args) =>
    this.#route(script.name, keys[0], server => server.run(script, keys, args))

  runDurably: RedisConnection['runDurably'] = (script, keys, args) =>
    this.#route(script.name, keys[0], server => server.runDurably(script, keys, args))

  command: RedisConnection['command'] = (args, key) => this.#route(args[0] ?? '', key, server => server.command(args))

  /** By slot, not by server: one call may not name two slots, whoever has them. */
  together(keys: readonly string[]): readonly (readonly string[])[] {
    const groups = new Map<number, string[]>()
    for (const key of keys) {
      const slot = slotOf(key)
      const group = groups.get(slot)
      if (group === undefined) groups.set(slot, [key])
      else group.push(key)
    }
    return [...groups.values()]
  }

  primaries(): readonly Server[] {
    return [...this.#servers.values()]
  }

  subscribe(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    return this.#subscriptions.add(channel, onMessage, onGap)
  }

  connected(): boolean {
    return this.#servers.size > 0 && this.primaries().every(server => server.isUp())
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#wake.abort()
    await Promise.all([this.#scout, this.#subscriptions, ...this.primaries()].map(one => one.close()))
    await Promise.all([this.#kept, ...this.#retiring])
  }

  async #route<T>(what: string, key: string | undefined, send: (server: Server) => Promise<T>): Promise<T> {
    const server = key === undefined ? this.#any() : this.#servers.get(this.#owners?.[slotOf(key)] ?? '')
    if (server === undefined) {
      this.#wake.abort()
      throw awayFault(what, key === undefined ? undefined : 'nobody is known to have this key')
    }
    try {
      return await send(server)
    } catch (error) {
      if (error instanceof Fault) this.#wake.abort()
      if (!(error instanceof MovedFault)) throw error
      const named = this.#learn(error, server)
      if (named === undefined || !named.isUp()) throw error
      return send(named)
    }
  }

  #any(): Server | undefined {
    return this.primaries().find(server => server.isUp())
  }

  /** What a node has said of one slot, until the whole map is asked for. */
  #learn({ slot, target }: MovedFault, by: Server): Server | undefined {
    const where = readTarget(target, hostOf(by.name))
    if (where === undefined) return undefined
    const name = nameOf(where)
    if (!this.#servers.has(name)) this.#meet(name, where)
    if (this.#owners !== undefined) this.#owners[slot] = name
    return this.#servers.get(name)
  }

  #meet(name: string, where: NodeAddress): void {
    if (this.#servers.size >= NODES_MAX || this.#closing.signal.aborted) return
    this.#servers.set(name, new Server(this.#dealings, () => ({ ...this.#seed, ...where })))
  }

  async #keepMap(): Promise<void> {
    const { clock } = this.#dealings
    const { signal } = this.#closing
    while (!signal.aborted) {
      const known = await this.#ask()
      await clock.sleep(ASK_AGAIN_MS, signal)
      if (known) await clock.sleep(ASK_EVERY_MS, this.#wake.signal)
      if (!signal.aborted) this.#wake = new AbortController()
    }
  }

  /** False: nobody told anything that may be believed. */
  async #ask(): Promise<boolean> {
    const asked = this.#scout.at() ?? ''
    try {
      const [info, slots] = await this.#scout.send('CLUSTER SLOTS', [
        ['CLUSTER', 'INFO'],
        ['CLUSTER', 'SLOTS'],
      ])
      const epoch = Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0)
      const map = readSlots(slots, hostOf(asked))
      const down = String(info).includes('cluster_state:fail')
      if (map.primaries.size > 0 && map.nodes.length <= NODES_MAX && this.#believe(epoch, down)) {
        this.#take(map)
        return true
      }
      this.#askAnother('another node may know more')
    } catch (error) {
      if (isOtherKind(error)) this.#askAnother('this is no node of a cluster')
      else if (!(error instanceof Fault)) throw error
      // It has answered, and not what was asked for: it loads its files, or is busy with a script.
      else if (this.#scout.isUp()) this.#askAnother('another node may be able to tell')
    }
    return false
  }

  /** Not more often than once in a while: when all of them are in trouble, nobody is helped by haste. */
  #askAnother(why: string): void {
    const nowMs = this.#dealings.clock.elapsed()
    if (nowMs - this.#turnedMs < ASK_ANOTHER_MS) return
    this.#turnedMs = nowMs
    this.#scout.drop(why)
  }

  #believe(epoch: number, down: boolean): boolean {
    const nowMs = this.#dealings.clock.elapsed()
    if ((down || epoch < this.#believed.epoch) && nowMs - this.#believed.atMs < OLDER_MS_MAX) return false
    this.#believed = { epoch, atMs: nowMs }
    return true
  }

  #take({ primaries, nodes, owners }: SlotMap): void {
    if (this.#closing.signal.aborted) return
    for (const [name, where] of primaries) if (!this.#servers.has(name)) this.#meet(name, where)
    for (const [name, server] of this.#servers) {
      if (primaries.has(name)) continue
      this.#servers.delete(name)
      this.#retire(server)
    }
    this.#nodes = nodes
    this.#owners = owners
    this.#subscriptions.moveTo([...primaries.values()])
  }

  /** Nobody is sent there any more. What is under way is answered by then, or never. */
  #retire(server: Server): void {
    const { clock, timeoutMs } = this.#dealings
    const gone = clock
      .sleep(timeoutMs, this.#closing.signal)
      .then(() => server.close())
      .finally(() => this.#retiring.delete(gone))
    this.#retiring.add(gone)
  }

  /** Whoever does not answer, the next is asked; those of the address come last, and are all there is at first. */
  #nextNode(): Address {
    const all: readonly NodeAddress[] = [...this.#nodes, ...this.#seeds]
    this.#turn += 1
    return { ...this.#seed, ...placeOf(all[this.#turn % all.length]!) }
  }

  /** Every node hears what is said at any; one that is cut off is no primary any more, sooner or later. */
  #nextListener(): Address {
    const up = this.primaries().filter(server => server.isUp())
    if (up.length === 0) return this.#nextNode()
    this.#turn += 1
    const { name } = up[this.#turn % up.length]!
    const where = this.#nodes.find(node => nameOf(node) === name)
    return where === undefined ? this.#nextNode() : { ...this.#seed, ...placeOf(where) }
  }
}

function placeOf({ host, port }: NodeAddress): NodeAddress {
  return { host, port }
}
