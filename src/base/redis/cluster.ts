/**
 * A Redis Cluster: each key lives on the primary of its slot. One pair of connections to every primary that has slots; which these are,
 * one of the nodes is asked every few seconds, and at once when a call shows that the map is old.
 *
 * A redirect is never followed blindly. MOVED: nothing was done, so the call is made once more, at the node that was named
 * (an item is fenced by the server it was built on, E1: on any other it is `stale`). ASK and TRYAGAIN: the slot is on its way and so are its
 * keys; nothing was done, and nothing is, until it has arrived. No second redirect. A slot without an owner is a server that is away.
 *
 * A map is used if it is not older than the one before (by the cluster's own epoch) and comes from a node that calls the cluster whole: a
 * node that was cut off has an old one. A node that has none is not asked twice.
 * Bounded: nodes, connections, redirects.
 */

import { Fault } from '../fault.ts'
import { isOtherKind, MovedFault, notDone } from './faults.ts'
import { Link } from './link.ts'
import type { RedisConnection } from './redis-connection.ts'
import { type Address, type HostPort, hostOf, nameOf } from './redis-url.ts'
import { Server, type ServerOptions } from './server.ts'
import { readSlots, readTarget, type SlotMap, slotOf } from './slots.ts'
import { Subscriptions } from './subscriptions.ts'

const NODES_MAX = 1_000
const ASK_EVERY_MS = 2_000
/** At most so often, however many calls find the map old. */
const ASK_AGAIN_MS = 50
const ASK_ANOTHER_MS = 500
/** So long an older map is not used, nor one of a cluster that is down. Afterwards it may be a new cluster, or really down. */
const OLDER_MS_MAX = 10_000

export class Cluster implements RedisConnection {
  readonly database = 0
  readonly oneServer = false
  readonly durability: ServerOptions['durability']
  readonly #options: ServerOptions
  /** For everything but host and port: every node takes the same user and password. */
  readonly #seed: Address
  readonly #seeds: readonly Address[]
  readonly #servers = new Map<string, Server>()
  readonly #retiring = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #scout: Link
  readonly #subscriptions: Subscriptions
  readonly #kept: Promise<void>
  #nodes: readonly HostPort[] = []
  #owners: (string | undefined)[] | undefined
  #believed = { epoch: 0, atMs: Number.NEGATIVE_INFINITY }
  #asked = 0
  #askedAnotherMs = Number.NEGATIVE_INFINITY
  #wake = new AbortController()

  constructor(seeds: readonly Address[], options: ServerOptions) {
    this.durability = options.durability
    this.#options = options
    this.#seeds = seeds
    this.#seed = seeds[0]!
    const { clock, log, timeoutMs } = options
    this.#scout = new Link({ clock, log, timeoutMs, name: 'scout', address: () => this.#nextNode() })
    this.#subscriptions = new Subscriptions({ clock, log, timeoutMs, address: () => this.#nextListener() })
    this.#kept = this.#keepMap()
  }

  run: RedisConnection['run'] = (script, keys, args) =>
    this.#route(script.name, keys[0], server => server.run(script, keys, args))

  runDurably: RedisConnection['runDurably'] = (script, keys, args) =>
    this.#route(script.name, keys[0], server => server.runDurably(script, keys, args))

  command: RedisConnection['command'] = (args, key) => this.#route(args[0] ?? '', key, server => server.command(args))

  /** By slot, not by server: one call may not name two slots, even of one server. */
  together(keys: readonly string[]): readonly (readonly string[])[] {
    return [...Map.groupBy(keys, slotOf).values()]
  }

  serverOf(key: string): string {
    return this.#owners?.[slotOf(key)] ?? ''
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
    const server =
      key === undefined
        ? this.primaries().find(one => one.isUp())
        : this.#servers.get(this.#owners?.[slotOf(key)] ?? '')
    if (server === undefined) {
      this.#wake.abort()
      throw notDone('redis_away', what, key === undefined ? 'not connected' : 'no node is known to have this key')
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

  /** A redirect names the owner of one slot; the whole map is asked for soon. */
  #learn({ slot, target }: MovedFault, by: Server): Server | undefined {
    const where = readTarget(target, hostOf(by.name))
    if (where === undefined) return undefined
    const name = nameOf(where)
    this.#meet(name, where)
    if (this.#owners !== undefined) this.#owners[slot] = name
    return this.#servers.get(name)
  }

  #meet(name: string, where: HostPort): void {
    if (this.#servers.has(name) || this.#servers.size >= NODES_MAX || this.#closing.signal.aborted) return
    this.#servers.set(name, new Server(this.#options, () => ({ ...this.#seed, ...where })))
  }

  async #keepMap(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#closing
    while (!signal.aborted) {
      const known = await this.#ask()
      await clock.sleep(ASK_AGAIN_MS, signal)
      if (known) await clock.sleep(ASK_EVERY_MS, this.#wake.signal)
      if (!signal.aborted) this.#wake = new AbortController()
    }
  }

  /** False: no usable map came. */
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
      // It answered with a refusal: it loads its files, or is busy with a script.
      else if (this.#scout.isUp()) this.#askAnother('another node may be able to tell')
    }
    return false
  }

  /** Not more often than every ASK_ANOTHER_MS, also when all nodes fail. */
  #askAnother(why: string): void {
    const nowMs = this.#options.clock.elapsed()
    if (nowMs - this.#askedAnotherMs < ASK_ANOTHER_MS) return
    this.#askedAnotherMs = nowMs
    this.#scout.drop(why)
  }

  #believe(epoch: number, down: boolean): boolean {
    const nowMs = this.#options.clock.elapsed()
    if ((down || epoch < this.#believed.epoch) && nowMs - this.#believed.atMs < OLDER_MS_MAX) return false
    this.#believed = { epoch, atMs: nowMs }
    return true
  }

  #take({ primaries, nodes, owners }: SlotMap): void {
    if (this.#closing.signal.aborted) return
    for (const [name, where] of primaries) this.#meet(name, where)
    for (const [name, server] of this.#servers) {
      if (primaries.has(name)) continue
      this.#servers.delete(name)
      this.#retire(server)
    }
    this.#nodes = nodes
    this.#owners = owners
    this.#subscriptions.moveTo([...primaries.values()])
  }

  /** No call goes there any more. What is under way is answered within the timeout, or never. */
  #retire(server: Server): void {
    const { clock, timeoutMs } = this.#options
    const gone = clock
      .sleep(timeoutMs, this.#closing.signal)
      .then(() => server.close())
      .finally(() => this.#retiring.delete(gone))
    this.#retiring.add(gone)
  }

  /** The next one each time; those of the address come last, and are all there are at first. */
  #nextNode(): Address {
    const all: readonly HostPort[] = [...this.#nodes, ...this.#seeds]
    this.#asked += 1
    return { ...this.#seed, ...all[this.#asked % all.length] }
  }

  /** Every node gets the messages of all; one that is cut off stops being a primary sooner or later. */
  #nextListener(): Address {
    const up = this.primaries().filter(server => server.isUp())
    if (up.length === 0) return this.#nextNode()
    this.#asked += 1
    const { name } = up[this.#asked % up.length]!
    const where = this.#nodes.find(node => nameOf(node) === name)
    return where === undefined ? this.#nextNode() : { ...this.#seed, ...where }
  }
}
