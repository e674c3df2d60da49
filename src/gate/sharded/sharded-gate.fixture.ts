/**
 * A sharded gate as buyers meet it, in one process: whoever is told to wait gets the units moved and asks again, so that "not enough" is
 * final. Does what a status loop and a keeper do elsewhere: looks before it asks, plans with the real planner, moves with a journal in memory.
 */

import { assert } from '../../base/assert.ts'
import { systemClock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import type { AskAnswer, Gate, ReserveReply } from '../gate.ts'
import { shardOf } from '../shard-ids.ts'
import { moveUnits } from './move-units.ts'
import { createShardCounts, type ShardCounts } from './shard-counts.ts'
import type { ShardGate } from './shard-gate.ts'
import { ShardedGate } from './sharded-gate.ts'

const SETTLED_MS_MAX = 20_000
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

type MoveParts = Parameters<typeof moveUnits>[0]
type OpenMove = Awaited<ReturnType<MoveParts['journal']['open']>>[number]

/** The journal of moves, in memory; `asked` counts them. */
function memoryJournal() {
  let asked = 0
  let open: OpenMove[] = []
  const isIt = (item: ItemId, no: number) => (one: OpenMove) => one.item === item && one.no === no
  const journal: MoveParts['journal'] = {
    open: async () => open,
    async ask(item, epoch, move) {
      asked += 1
      open.push({ item, no: asked, epoch, ...move, taken: undefined, current: true })
      return asked
    },
    async taken(item, no, taken) {
      open = open.map(one => (isIt(item, no)(one) ? { ...one, taken } : one))
      return true
    },
    async end(item, no) {
      open = open.filter(one => !isIt(item, no)(one))
    },
  }
  return { journal, asked: () => asked }
}

export function createSettlingGate(gate: ShardGate, count: number): Gate & { readonly counts: ShardCounts } {
  const counts = createShardCounts()
  const sharded = new ShardedGate(gate, counts, systemClock)
  const { journal, asked } = memoryJournal()
  let moving: Promise<unknown> = Promise.resolve()

  const learn = (item: ItemId, epoch: Epoch) =>
    counts.learn(item, { shards: count, epoch, gateShards: epoch === 0 ? 1 : count })

  /** One after the other: whoever has the units moved is the next to ask. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = moving.then(work)
    moving = next.catch(() => {})
    return next
  }

  async function settle(item: ItemId, epoch: Epoch, asks: Parameters<Gate['reserve']>[2]): Promise<ReserveReply> {
    const parts = { gate: sharded, shardGate: gate, counts, journal, log: silent, mayMove: () => true }
    let before: number
    do {
      before = asked()
      await moveUnits({ ...parts, items: () => [{ item, epoch }] })
    } while (asked() > before)
    await sharded.status([item])
    return sharded.reserve(item, epoch, asks)
  }

  return {
    ...bound(sharded),
    counts,
    async status(items) {
      const reply = await sharded.status(items)
      return {
        ...reply,
        items: reply.items.map(({ shards: _, uneven: __, moving: ___, scattered: ____, ...one }) => one),
      }
    },
    async reserve(item, epoch, asks) {
      await sharded.status([item])
      let reply = await sharded.reserve(item, epoch, asks)
      if (!('answers' in reply)) return reply
      const answers: AskAnswer[] = [...reply.answers]
      const lateMs = systemClock.elapsed() + SETTLED_MS_MAX
      for (;;) {
        const waiting = asks.flatMap((_, i) => (answers[i]?.code === 'wait' ? [i] : []))
        const { shard: _, ...rest } = reply
        if (waiting.length === 0) return { ...rest, answers }
        assert(systemClock.elapsed() < lateMs, `${waiting.length} asks still wait`)
        const again = waiting.map(i => asks[i]!)
        reply = await inTurn(() => settle(item, epoch, again))
        if (!('answers' in reply)) return reply
        for (const [j, answer] of reply.answers.entries()) answers[waiting[j]!] = answer
      }
    },
    fence(item, epoch) {
      learn(item, 0)
      return sharded.fence(item, epoch)
    },
    load(item, epoch, holdings) {
      learn(item, epoch)
      return sharded.load(item, epoch, holdings)
    },
    activate(item, epoch, terms) {
      learn(item, epoch)
      return sharded.activate(item, epoch, terms)
    },
  }
}

/** Names that begin like these and share a shard. */
export function together(buyers: readonly BuyerId[], count: number): readonly BuyerId[] {
  const [first] = buyers
  if (first === undefined) return []
  const shard = shardOf(first, count)
  return buyers.map(buyer => {
    let name = buyer
    for (let i = 0; shardOf(name, count) !== shard; i++) name = `${buyer}~${i}`
    return name
  })
}

function bound(gate: Gate): Gate {
  return {
    status: items => gate.status(items),
    reserve: (item, epoch, asks) => gate.reserve(item, epoch, asks),
    release: (item, epoch, releases) => gate.release(item, epoch, releases),
    find: (item, buyer, toShow) => gate.find(item, buyer, toShow),
    change: (item, epoch, no, delta) => gate.change(item, epoch, no, delta),
    set: (item, epoch, windowState) => gate.set(item, epoch, windowState),
    fence: (item, epoch) => gate.fence(item, epoch),
    load: (item, epoch, holdings) => gate.load(item, epoch, holdings),
    activate: (item, epoch, terms) => gate.activate(item, epoch, terms),
  }
}
