/**
 * For tests of what keepers and workers of a cluster do: a real ledger, a gate "elsewhere" (in memory, but it can be away, and can come back
 * without its memory), an outbox that only its `reserve` writes, and nodes with leases. Rounds come when the test makes them.
 */

import { learnShards } from '../../src/app/compose-shards.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Fault } from '../../src/base/fault.ts'
import type { Log } from '../../src/base/log.ts'
import { noMeters } from '../../src/base/meters.ts'
import { systemRandom } from '../../src/base/random.ts'
import { shardsFor } from '../../src/domain/shards.ts'
import { noCopies } from '../../src/flows/keep/entry-copies.ts'
import { GateController } from '../../src/flows/keep/gate-controller.ts'
import { createStraightDelivery, type Delivery } from '../../src/flows/place/delivery.ts'
import type { PlaceContext } from '../../src/flows/place/place-entries.ts'
import { placeOrders } from '../../src/flows/place/place-orders.ts'
import type { ChannelMessage } from '../../src/gate/channel.ts'
import type { Ask, Gate } from '../../src/gate/gate.ts'
import { MemoryGate } from '../../src/gate/memory/memory-gate.ts'
import type { Outbox, OutboxBooks, OutboxEntry, Partition, QueuedAsk } from '../../src/gate/outbox.ts'
import type { CopiedUpTo, RelayCursor } from '../../src/gate/relay-cursor.ts'
import { itemOf } from '../../src/gate/shard-ids.ts'
import type { ShardOutbox } from '../../src/gate/sharded/shard-gate.ts'
import { createJournal } from '../../src/ledger/postgres/journal.ts'
import { createNodes } from '../../src/ledger/postgres/nodes.ts'
import type { TestLedger } from './money-ledger.ts'
import { until } from './until.ts'

export const FENCE_MS = 60
const GATE_DOWN_MS = 80

export type KeeperStage = ReturnType<typeof openKeeperStage>

interface Said {
  readonly level: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

function createLog() {
  const said: Said[] = []
  const say = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void said.push({ level, fields, message })
  const log: Log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  return { log, said }
}

export function openKeeperStage(ledger: TestLedger) {
  const server = { away: false, memory: new MemoryGate(systemClock) }
  const entries = new Map<string, OutboxEntry[]>()
  const leases = new Map<string, string>()
  const forgotten: string[] = []
  /** Every call to the gate, by name, for tests that look at what was done. */
  const calls: string[] = []
  let entryNo = 0

  function reach(name: string): void {
    calls.push(name)
    if (server.away) throw new Fault('gate_away', 'the gate does not answer', { retryable: true })
  }

  const gate: Gate = {
    async status(items) {
      reach('look')
      return server.memory.status(items)
    },
    async reserve(item, epoch, asks) {
      reach('reserve')
      const reply = await server.memory.reserve(item, epoch, asks)
      if (!('answers' in reply)) return reply
      const queued: QueuedAsk[] = asks
        .map((ask, i) => ({ ask, answer: reply.answers[i]! }))
        .filter(({ answer }) => answer.code === 'reserved')
        .map(({ ask: { order, buyer, attempt, quantity }, answer }) => ({
          order,
          buyer,
          attempt,
          quantity,
          reservedAtMs: answer.reservedAtMs,
        }))
      if (queued.length > 0) put(item, epoch, queued)
      return reply
    },
    async release(item, epoch, releases) {
      reach('release')
      return server.memory.release(item, epoch, releases)
    },
    async find(item, buyer) {
      reach('find')
      return server.memory.find(item, buyer)
    },
    async change(item, epoch, no, delta) {
      reach('change')
      return server.memory.change(item, epoch, no, delta)
    },
    async set(item, epoch, word) {
      reach(`set ${word.state}`)
      return server.memory.set(item, epoch, word)
    },
    async fence(item, epoch) {
      reach(`fence ${epoch}`)
      return server.memory.fence(item, epoch)
    },
    async load(item, epoch, page) {
      reach(`load ${epoch}`)
      return server.memory.load(item, epoch, page)
    },
    async activate(item, epoch, terms) {
      reach(`activate ${epoch}`)
      return server.memory.activate(item, epoch, terms)
    },
  }

  function put(item: string, epoch: number, asks: readonly QueuedAsk[] | undefined, raw = ''): string {
    const list = entries.get(item) ?? []
    entryNo += 1
    list.push({ id: `${entryNo}-0`, epoch, asks, raw })
    entries.set(item, list)
    return `${entryNo}-0`
  }

  const outbox: Outbox & OutboxBooks & ShardOutbox = {
    partitions: items => [...items] as Partition[],
    itemOf,
    release: (item, epoch, releases) => gate.release(item, epoch, releases),
    async take(item, worker, asksMax) {
      reach('take')
      const holder = leases.get(item)
      if (holder !== undefined && holder !== worker) return { status: 'held' }
      leases.set(item, worker)
      const list = entries.get(item) ?? []
      const lowest = Math.min(...list.map(entry => entry.epoch))
      const taken: OutboxEntry[] = []
      let asks = 0
      for (const entry of list.filter(one => one.epoch === lowest)) {
        asks += entry.asks?.length ?? 0
        if (taken.length > 0 && asks > asksMax) break
        taken.push(entry)
      }
      return { status: 'ok', entries: taken, more: taken.length < list.length }
    },
    async done(item, epoch, ids) {
      reach('done')
      const list = entries.get(item) ?? []
      entries.set(
        item,
        list.filter(entry => entry.epoch !== epoch || !ids.includes(entry.id)),
      )
    },
    async give(item, worker) {
      reach('give')
      if (leases.get(item) === worker) leases.delete(item)
    },
    async depth(items) {
      reach('depth')
      return items.map(item => {
        const asks = (entries.get(item) ?? []).flatMap(entry => entry.asks ?? [])
        const oldestMs = asks.length === 0 ? undefined : Math.min(...asks.map(ask => ask.reservedAtMs))
        const units = asks.reduce((sum, ask) => sum + ask.quantity, 0)
        return { item, entries: (entries.get(item) ?? []).length, units, oldestMs, miscounted: 0 }
      })
    },
    async status(items) {
      return server.away ? { items: [], away: items } : { items: await outbox.depth(items), away: [] }
    },
    recount: async () => 0,
    async forget(item) {
      reach('forget')
      if ((entries.get(item) ?? []).length > 0) return false
      forgotten.push(item)
      server.memory.drop(item)
      return true
    },
  }

  const cursors = new Map<string, CopiedUpTo>()
  const isUpTo = (id: string, last: string) => Number(id.split('-')[0]) <= Number(last.split('-')[0])
  const waits = (item: string, upTo: CopiedUpTo) =>
    (entries.get(item) ?? []).some(entry => entry.epoch === upTo.epoch && isUpTo(entry.id, upTo.entry))
  const cursor: RelayCursor = {
    async uncopied(item, worker, asksMax) {
      const all = entries.get(item) ?? []
      const rest = all.filter(({ epoch, id }) => {
        const upTo = cursors.get(`${item} ${epoch}`)
        return upTo === undefined || !isUpTo(id, upTo.entry)
      })
      entries.set(item, rest)
      try {
        return await outbox.take(item as Partition, worker, asksMax)
      } finally {
        entries.set(item, all)
      }
    },
    async copied(item, upTo) {
      reach('copied')
      const name = `${item} ${upTo.epoch}`
      const before = cursors.get(name)
      if (before === undefined || !isUpTo(upTo.entry, before.entry)) cursors.set(name, upTo)
    },
    async cursors(item) {
      reach('cursors')
      return [...cursors].flatMap(([name, one]) => (name === `${item} ${one.epoch}` && waits(item, one) ? [one] : []))
    },
    async rewind(item, upTo) {
      reach('rewind')
      return waits(item, upTo) && cursors.delete(`${item} ${upTo.epoch}`)
    },
  }

  const nodes = createNodes(ledger.database)
  const journal = createJournal(ledger.database)
  const listeners: ((message: ChannelMessage) => void)[] = []
  const gaps: (() => void)[] = []
  const said: ChannelMessage[] = []

  function ask(buyer: string, quantity = 1, attempt = 1): Ask {
    return { order: ledger.id(), buyer, attempt, quantity, askedAtMs: systemClock.now() }
  }

  return {
    ledger,
    server,
    gate,
    books: { holdings: (item: string, epoch: number) => server.memory.holdings(item, epoch) },
    outbox,
    cursor,
    entries,
    leases,
    forgotten,
    calls,
    nodes,
    journal,
    said,
    put,
    ask,
    /** Messages were missed. */
    gap: () => gaps.forEach(listener => void listener()),
    /** What `reserve` says on the channel. */
    hear(message: ChannelMessage) {
      for (const listener of listeners) listener(message)
    },

    /** The server restarts without its memory: what is asked of it from here on finds nothing of before (E1). */
    restartEmpty(): void {
      server.memory = new MemoryGate(systemClock)
    },

    /** An item that was never sold, in the only sale that is followed; no node owes anything. */
    async fresh(wish: Parameters<TestLedger['openItem']>[0] & { homeDoor?: 'ledger'; whenGateDown?: 'shut' } = {}) {
      await ledger.sql(
        "UPDATE sales SET state = 'over', closes_at = now() - interval '2 hours', opens_at = now() - interval '3 hours'",
      )
      await ledger.sql('DELETE FROM node_items')
      await ledger.sql('DELETE FROM nodes')
      const { sale, item } = await ledger.openItem(wish)
      await ledger.sql("UPDATE items SET epoch = 0, gate_epoch = 0, door = 'shut' WHERE id = $1", [item])
      return { sale, item }
    },

    /** Parts of a keeper whose gate spreads an item over so many shards as the ledger says, and shows when few units are left for them. */
    sharded() {
      const learned: (readonly [epoch: number, gateShards: number])[] = []
      let count = 1
      const { rights } = learnShards(ledger, {
        learn(_, { epoch, gateShards }) {
          learned.push([epoch, gateShards])
          count = gateShards
        },
        forget() {},
      })
      const spread: Gate = {
        ...gate,
        async status(items) {
          const reply = await gate.status(items)
          return {
            ...reply,
            items: reply.items.map(one => ({ ...one, scattered: shardsFor(one.left, count) < count })),
          }
        },
      }
      return { learned, parts: { gate: spread, rights } }
    },

    /** One unit, or more, taken by a buyer who has none. */
    async reserve(item: string, epoch: number, buyer: string, quantity = 1): Promise<string> {
      const one = ask(buyer, quantity)
      const reply = await gate.reserve(item, epoch, [one])
      const code = 'answers' in reply ? reply.answers[0]?.code : reply.status
      if (code !== 'reserved') throw new Error(`${buyer} was told ${code}`)
      return one.order
    },

    /** A process that may hold what is not in the ledger: what it has seen it confirms when the test says so. */
    async holdingNode(name: string) {
      const { node } = await nodes.lease(name, systemClock.now(), 'holding')
      return {
        confirm: (item: string, epoch: number) => nodes.confirm(node, name, [{ item, epoch }]),
        renew: () => nodes.renew(node, name, systemClock.now()),
        lapse: () => ledger.sql("UPDATE nodes SET lease_until = now() - interval '1 minute' WHERE id = $1", [node]),
      }
    },

    async rights(item: string) {
      const right = await ledger.rights.read(item)
      if (right === undefined) throw new Error(`there is no item ${item}`)
      return { item, ...right }
    },

    keeper(change: Partial<ConstructorParameters<typeof GateController>[0]> = {}) {
      const { log, said: lines } = createLog()
      const right = { held: true }
      const alarms: string[] = []
      const keeper = new GateController({
        gate,
        outbox,
        rights: ledger.rights,
        sales: ledger.sales,
        nodes,
        clock: systemClock,
        log,
        meters: noMeters,
        alarm: what => void alarms.push(what),
        entryCopies: noCopies,
        maySell: () => right.held,
        prepare: async () => {},
        oneServer: true,
        homeDoorOf: item => item.homeDoor,
        shutIdle: async () => {},
        onDoorSet() {},
        fenceMs: FENCE_MS,
        gateDownMs: GATE_DOWN_MS,
        backMs: 1_000,
        drainMsMax: 60_000,
        ...change,
      })
      return {
        round: () => keeper.round(),
        idle: () => keeper.idle(),
        alone: (...task: Parameters<GateController['alone']>) => keeper.alone(...task),
        right,
        lines,
        alarms,
        /** Rounds, until the item's door is this one and nothing is under way: the next round judges the item. */
        untilDoor: (item: string, door: string) =>
          until(`item ${item} is behind the door "${door}"`, async () => {
            const isThere = async () => {
              const found = await ledger.rights.read(item)
              return found?.door === door ? { item, ...found } : undefined
            }
            await keeper.round()
            if ((await isThere()) === undefined) return undefined
            // A door is seen before the task that turned it has ended; or it is an old one, that a task just begun has not left yet.
            await until('its task is through', () => keeper.alone(item, async () => {}))
            return isThere()
          }),
      }
    },

    worker(
      name: string,
      item: string,
      change: Partial<PlaceContext> = {},
      deliver: (context: PlaceContext) => Delivery = createStraightDelivery,
    ) {
      const { log, said: lines } = createLog()
      const alarms: string[] = []
      const context: PlaceContext = {
        outbox,
        orders: ledger.orders,
        journal,
        channel: {
          publish: message => void said.push(message),
          listen: listener => void listeners.push(listener),
          onGap: listener => void gaps.push(listener),
        },
        clock: systemClock,
        random: systemRandom,
        log,
        meters: noMeters,
        alarm: what => void alarms.push(what),
        worker: name,
        items: () => [item],
        drains: one => one === item,
        ...change,
      }
      const placer = placeOrders(context, deliver(context))
      return {
        ...placer,
        alarms,
        lines,
        /** One look into the outbox, and all that follows from it. */
        async work() {
          await placer.round()
          await placer.idle()
        },
      }
    },
  }
}
