/**
 * The gate on Redis: each verb is one script call, decided in one step by the server (`scripts/`). What is asked of many items at the same
 * time shares a call (`calls-together.ts`).
 * Guarantees: what was reserved is in the outbox by the very same act, and was published on the channel; an epoch lives and dies with
 * the server and the history it was activated in (E1); a call that was not answered is `unknown`, never guessed (E11); the window is
 * judged by the server's clock, which for an item does not step back (`step-back.ts`).
 * Does not place, retry or wait: an answer comes within the connection's time, or not at all.
 * What is called an item here may be one of several shards (`sharded/`): then a refusal for want of units is noted, and units can be moved.
 * It knows nothing of the other shards, so it never answers `wait`.
 *
 * States of an item, as in the contract: absent → loading(epoch) → active(epoch) → fenced(epoch' > epoch) → loading(epoch') …;
 * and after a restart, a failover or a FLUSHALL whatever was there is as good as absent, except that epochs only go up.
 */

import { assert } from '../../base/assert.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { callTogether } from '../../base/redis/calls-together.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { BuyerId, Epoch, ItemId } from '../../domain/ids.ts'
import {
  checkAsk,
  checkBuyer,
  checkChange,
  checkEpoch,
  checkHolding,
  checkItem,
  checkRelease,
  checkTerms,
  checkWindowState,
} from '../arguments.ts'
import {
  type Ask,
  CHANGES_REMEMBERED,
  type ChangeReply,
  type Done,
  type FindReply,
  type GateStatus,
  type GateStatusReply,
  type Holding,
  type Release,
  type ReserveReply,
  type Terms,
  type WindowState,
} from '../gate.ts'
import type { ShardId } from '../shard-ids.ts'
import type { LoadedReply, ShardGate } from '../sharded/shard-gate.ts'
import { outwaitStepBack } from '../step-back.ts'
import { askServers, bookKeys, buyersKey, gateKey, messageChannel, outboxesKey, outboxKey } from './keys.ts'
import {
  changeReplyFrom,
  holdingsFrom,
  listOf,
  reserveReplyFrom,
  statusFrom,
  statusOf,
  textOf,
  wholeOf,
} from './replies.ts'
import { readScript } from './scripts.ts'

/** At the bound `reserve` answers `busy`: the ledger is too far behind. */
const OUTBOX_ENTRIES_MAX = 10_000
/** What one script call may hold: the server does nothing else meanwhile. */
const ASKS_MAX = 1_000
const HOLDINGS_MAX = 5_000
const HOLDINGS_PAGE = 1_000
/** Clicks that may be repeated ones are looked up one by one. At most so many at a time: batches of reservations wait behind them. */
const FINDS_AT_ONCE_MAX = 500

type Keys = readonly string[]
type Arguments = readonly (string | number)[]

export class RedisGate implements ShardGate {
  readonly #connection: RedisConnection
  readonly #offset: () => number
  readonly #outboxMax: number
  readonly #channel: string
  readonly #scripts = { status: readScript('status', 'reads_across'), holdings: readScript('holdings', 'reads') }
  readonly #calls: ReturnType<typeof sharedCalls>
  /** Epochs this process has begun (fenced or loaded), per item: a server that does not know of it is another one, or empty (E1). */
  readonly #begun = new Map<ItemId, Epoch>()
  #lastMs = 0
  #finding = 0

  /** @param clockOffsetMs a fault point: moves the gate's clock, as a server with a wrong clock would */
  constructor(connection: RedisConnection, clockOffsetMs = () => 0, outboxEntriesMax = OUTBOX_ENTRIES_MAX) {
    this.#connection = connection
    this.#offset = clockOffsetMs
    this.#outboxMax = outboxEntriesMax
    this.#channel = messageChannel(connection.database)
    this.#calls = sharedCalls(connection)
  }

  /** One question per server. In a cluster the clocks of servers that have none of these items are read too: every one judges windows. */
  async status(items: readonly ItemId[]): Promise<GateStatusReply> {
    const ask = async (some: readonly ItemId[]) => {
      const names = some.map(gateKey)
      return listOf(await this.#connection.run(this.#scripts.status, names.slice(0, 1), [this.#offset(), ...names]))
    }
    // Without an item it is asked for its clock alone.
    const asking =
      items.length === 0
        ? ask([]).then(reply => [{ server: undefined, items, reply }])
        : askServers(this.#connection, items, ask)
    const others = this.#otherClocks(new Set(items.map(item => this.#connection.serverOf(gateKey(item)))))
    const replies = await asking
    const statuses: GateStatus[] = []
    const clocks: number[] = [...(await others)]
    const judging: number[] = []
    let failed: Fault | undefined
    for (const { items: asked, reply } of replies) {
      if (reply instanceof Fault) {
        failed ??= reply
        continue
      }
      const [nowMs, clockMs, ...found] = reply
      assert(found.length <= asked.length, `${asked.length} items asked for, ${found.length} found`)
      clocks.push(wholeOf(clockMs))
      judging.push(wholeOf(nowMs))
      for (const [j, item] of asked.entries()) if (found[j]) statuses.push(statusFrom(item, found[j], wholeOf(nowMs)))
    }
    if (judging.length === 0) throw failed
    this.#lastMs = outwaitStepBack(this.#lastMs, Math.max(...judging))
    const clockMs = Math.max(...clocks)
    const behind = clocks.length > 1 ? { behindMs: clockMs - Math.min(...clocks) } : {}
    const shown = { nowMs: this.#lastMs, clockMs, ...behind, items: statuses }
    if (replies.length === 1) return shown
    return { ...shown, away: replies.flatMap(one => (one.reply instanceof Fault ? one.items : [])) }
  }

  servers(item: ItemId): readonly string[] {
    return [this.#connection.serverOf(gateKey(item))]
  }

  /** A server that does not answer has no clock. */
  async #otherClocks(asked: ReadonlySet<string>): Promise<readonly number[]> {
    const all = this.#connection.primaries()
    if (all.length <= 1) return []
    const others = all.filter(({ name }) => !asked.has(name)).map(one => onFault(() => one.command(['TIME'])))
    return (await Promise.all(others)).flatMap(reply => {
      if (reply === undefined) return []
      const [seconds, micros] = listOf(reply)
      return wholeOf(seconds) * 1_000 + Math.floor(wholeOf(micros) / 1_000) + this.#offset()
    })
  }

  async reserve(item: ItemId, epoch: Epoch, asks: readonly Ask[]): Promise<ReserveReply> {
    checkEpoch(item, epoch, 0)
    assert(asks.length <= ASKS_MAX, `a batch of ${asks.length} asks`)
    // E11: a `same` is an acknowledgement too. Made a write, it is covered by the WAIT behind it.
    const sameWrites = this.#connection.durability === 'replica' ? 1 : 0
    const texts: string[] = []
    const traces: string[] = []
    for (const ask of asks) {
      checkAsk(ask)
      if (ask.trace !== undefined) traces.push(ask.order, ask.trace.parent)
      texts.push(ask.order, ask.buyer, String(ask.attempt), String(ask.quantity))
    }
    // One argument: each has a price of its own on the way.
    const list = JSON.stringify(texts)
    const args = [epoch, item, this.#offset(), this.#outboxMax, this.#channel, sameWrites, list]
    if (traces.length > 0) args.push(JSON.stringify(traces))
    const keys = [...bookKeys(item, epoch), outboxKey(item, epoch), outboxesKey(item)]
    return onFault(
      async () => reserveReplyFrom(await this.#calls.reserve(keys, args, asks.length), asks),
      ({ outcomeUnknown }) => ({ status: outcomeUnknown ? 'unknown' : 'busy' }),
    )
  }

  async release(item: ItemId, epoch: Epoch, releases: readonly Release[]): Promise<Done> {
    checkEpoch(item, epoch, 0)
    assert(releases.length <= ASKS_MAX, `${releases.length} releases at once`)
    const args: (string | number)[] = [epoch, this.#channel, releases.length]
    for (const one of releases) {
      checkRelease(one)
      args.push(one.order, one.buyer, one.attempt, one.outcome)
    }
    return this.#do(this.#calls.release, bookKeys(item, epoch), args, releases.length)
  }

  async find(item: ItemId, buyer: BuyerId, toShow = false): Promise<FindReply> {
    checkItem(item)
    checkBuyer(buyer)
    if (this.#finding >= FINDS_AT_ONCE_MAX) return { status: 'unknown' }
    this.#finding += 1
    const durably = toShow && this.#connection.durability === 'replica'
    const call = durably ? this.#calls.show : this.#calls.find
    const read = (reply: unknown): FindReply => {
      const [first, packed] = listOf(reply)
      const status = statusOf(first, 'ok', 'stale')
      return status === 'stale' ? { status } : { status, holdings: holdingsFrom(buyer, textOf(packed)) }
    }
    try {
      return await this.#ask(call, [gateKey(item)], [buyer, durably ? 1 : 0], read)
    } finally {
      this.#finding -= 1
    }
  }

  async *holdings(item: ItemId, epoch: Epoch): AsyncGenerator<readonly Holding[]> {
    checkEpoch(item, epoch, 0)
    const keys = [gateKey(item), buyersKey(item, epoch)]
    // A book that grows while it is read shows some of its buyers twice.
    const seen = new Set<BuyerId>()
    let cursor = '0'
    do {
      const reply = await this.#connection.run(this.#scripts.holdings, keys, [epoch, cursor, HOLDINGS_PAGE])
      const [first, next, fields] = listOf(reply)
      if (statusOf(first, 'ok', 'stale') === 'stale') {
        if (cursor === '0') return
        throw new Fault('gate_stale', `item ${item}, epoch ${epoch}: not active any more`, { retryable: true })
      }
      const page: Holding[] = []
      const list = listOf(fields)
      for (let i = 0; i < list.length; i += 2) {
        const buyer = textOf(list[i])
        if (seen.has(buyer)) continue
        seen.add(buyer)
        page.push(...holdingsFrom(buyer, textOf(list[i + 1])))
      }
      if (page.length > 0) yield page
      cursor = textOf(next)
    } while (cursor !== '0')
  }

  async change(item: ItemId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    checkEpoch(item, epoch, 0)
    checkChange(no, delta)
    return this.#ask(
      this.#calls.change,
      [gateKey(item)],
      [epoch, no, delta, CHANGES_REMEMBERED, this.#channel],
      changeReplyFrom,
    )
  }

  async set(item: ItemId, epoch: Epoch, to: WindowState): Promise<Done> {
    checkEpoch(item, epoch, 0)
    checkWindowState(to)
    const { stateNo, state, opensAtMs, closesAtMs } = to
    return this.#do(this.#calls.set, [gateKey(item)], [epoch, state, opensAtMs, closesAtMs, stateNo, this.#channel])
  }

  async fence(item: ItemId, epoch: Epoch): Promise<Done> {
    checkEpoch(item, epoch, 1)
    const done = await this.#do(this.#calls.fence, [gateKey(item)], [epoch])
    if (done.status === 'done') this.#begun.set(item, epoch)
    return done
  }

  async load(item: ItemId, epoch: Epoch, holdings: readonly Holding[]): Promise<Done> {
    checkEpoch(item, epoch, 1)
    assert(holdings.length <= HOLDINGS_MAX, `a page of ${holdings.length} holdings`)
    const args: (string | number)[] = [epoch, this.#hasBegun(item, epoch), holdings.length]
    for (const one of holdings) {
      checkHolding(one)
      args.push(one.order, one.buyer, one.attempt, one.quantity, one.live ? 1 : 0, one.reservedAtMs)
    }
    const done = await this.#do(this.#calls.load, bookKeys(item, epoch), args, holdings.length)
    if (done.status === 'done') this.#begun.set(item, epoch)
    return done
  }

  async activate(item: ItemId, epoch: Epoch, terms: Terms): Promise<Done> {
    checkEpoch(item, epoch, 1)
    checkTerms(terms)
    const { left, held, buyers, attemptsMax, changeNo, state, opensAtMs, closesAtMs, stateNo } = terms
    const begun = this.#hasBegun(item, epoch)
    const args = [epoch, begun, left, held, buyers, attemptsMax, changeNo, state, opensAtMs, closesAtMs, stateNo]
    const done = await this.#do(this.#calls.activate, [...bookKeys(item, epoch), outboxesKey(item)], args)
    if (done.status !== 'unknown') this.#begun.delete(item)
    return done
  }

  async loaded(shard: ShardId, epoch: Epoch): Promise<LoadedReply> {
    checkEpoch(shard, epoch, 1)
    const keys = [gateKey(shard), buyersKey(shard, epoch)]
    return this.#ask(this.#calls.loaded, keys, [epoch, this.#hasBegun(shard, epoch)], (reply): LoadedReply => {
      const [first, held, buyers] = listOf(reply)
      const status = statusOf(first, 'ok', 'done', 'stale')
      if (status === 'ok') return { status, held: wholeOf(held), buyers: wholeOf(buyers) }
      return { status: status === 'done' ? 'active' : status }
    })
  }

  async move(shard: ShardId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply> {
    checkEpoch(shard, epoch, 0)
    checkChange(no, delta)
    return this.#ask(this.#calls.move, [gateKey(shard)], [epoch, no, delta, this.#channel], changeReplyFrom)
  }

  #hasBegun(item: ItemId, epoch: Epoch): 0 | 1 {
    return this.#begun.get(item) === epoch ? 1 : 0
  }

  #do(call: Call, keys: Keys, args: Arguments, weight = 1): Promise<Done> {
    return this.#ask(call, keys, args, (reply): Done => ({ status: statusOf(reply, 'done', 'stale') }), weight)
  }

  /** For verbs that have no `busy`: after any fault the caller asks again with the same arguments. */
  #ask<R>(call: Call, keys: Keys, args: Arguments, read: (reply: unknown) => R, weight = 1) {
    return onFault(
      async () => read(await call(keys, args, weight)),
      () => ({ status: 'unknown' }) as const,
    )
  }
}

type Call = ReturnType<typeof callTogether>

/** Verbs about one item: calls for many items at the same time are one script call. */
function sharedCalls(connection: RedisConnection) {
  const shared = (name: string, kind: 'reads' | 'grows' | 'always', how: 'run' | 'runDurably' = 'run') =>
    callTogether(connection, how, readScript(name, kind), readScript(name, kind, 'several'))
  return {
    reserve: shared('reserve', 'grows', 'runDurably'),
    release: shared('release', 'always'),
    find: shared('find', 'reads'),
    show: shared('find', 'always', 'runDurably'),
    change: shared('change', 'always'),
    set: shared('set', 'always'),
    fence: shared('fence', 'always'),
    load: shared('load', 'grows'),
    activate: shared('activate', 'grows'),
    loaded: shared('loaded', 'reads'),
    move: shared('move', 'always'),
  }
}
