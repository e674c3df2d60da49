/**
 * Does the gate answer? One read for many items; when that fails, one for each. Items may live on different servers: then the reply says of
 * which nothing is known. Remembers since when each has been there or away, on the monotonic clock. A process that has just started knows of
 * no past: what it finds away is away since now.
 *
 * A status only reads. A gate that is full, can't write or follows another answers it, and takes nothing: that one counts as away. So an
 * empty reserve is the probe: it succeeds only if the server accepts writes. One for each server.
 *
 * Items that are as the ledger wants them are read in turn, a bounded number in each round, and of each server at least one that it shows and
 * one that it does not: what a restart, a failover or a FLUSHALL takes away it takes from all items of a server. One that is missing has all
 * read in the same round.
 */

import type { Clock } from '../../base/clock.ts'
import { eachOf } from '../../base/each-of.ts'
import { onFault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Gate, GateStatus, GateStatusReply } from '../../gate/gate.ts'
import type { GateHealth } from './plan-item.ts'

const READS_AT_ONCE_MAX = 16
/** Of the items that are as they should be, so many are read in a round, in turn. */
const ITEMS_A_ROUND = 64
const NO_ANSWER = () => undefined

/** Whatever it says of the epoch. */
export async function acceptsWrites(gate: Pick<Gate, 'reserve'>, item: ItemId, epoch: Epoch): Promise<boolean> {
  const reply = await onFault(() => gate.reserve(item, epoch, []), NO_ANSWER)
  return reply !== undefined && reply.status !== 'busy' && reply.status !== 'unknown'
}

interface Wanted extends Pick<Item, 'id' | 'epoch'> {
  /** Is this status, or that there is none, what the ledger wants of the item? Then it is read in its turn only. Undefined: it is always read. */
  readonly isSettled?: (status: GateStatus | undefined) => boolean
}

interface Known {
  readonly status: GateStatus | undefined
  readonly servers: string
}

/** The function that reads; it forgets items that are not asked for any more. */
export function createGateHealth(gate: Pick<Gate, 'status' | 'reserve' | 'servers'>, clock: Clock) {
  let since = new Map<ItemId, { readonly there: boolean; readonly atMs: number }>()
  let known = new Map<ItemId, Known>()
  let rounds = 0

  function statusOf(items: readonly ItemId[]): Promise<GateStatusReply | undefined> {
    return onFault(() => gate.status(items), NO_ANSWER)
  }

  const serversOf = (item: ItemId) => gate.servers?.(item) ?? []

  /** What is not as it should be, what has moved to another server, some others in turn, and at least one or two of each server. */
  function choose(wanted: readonly Wanted[]): { readonly read: Wanted[]; readonly settled: Wanted[] } {
    const read: Wanted[] = []
    const settled: Wanted[] = []
    const parts = Math.max(1, Math.ceil(wanted.length / ITEMS_A_ROUND))
    const covered = new Set<string>()
    rounds += 1
    for (const [i, one] of wanted.entries()) {
      const servers = serversOf(one.id)
      const before = known.get(one.id)
      const isSettled = before?.servers === servers.join() && one.isSettled?.(before.status) === true
      // Only what the gate shows can be missed: where some do, one of those is read too.
      const covers = before?.status === undefined ? servers : servers.map(server => `${server} shows it`)
      if (isSettled && i % parts !== rounds % parts && covers.every(name => covered.has(name))) settled.push(one)
      else {
        read.push(one)
        if (isSettled) for (const name of covers) covered.add(name)
      }
    }
    return { read, settled }
  }

  /** One item of each server answers for all of it; without names of servers each item for itself, unless one server has all. */
  async function probe(read: readonly Wanted[], isOneServer: boolean, away: Set<ItemId>): Promise<void> {
    const answering = read.filter(({ id }) => !away.has(id))
    const probed = new Map<string, Wanted>()
    for (const one of answering) {
      const names = isOneServer ? [''] : gate.servers === undefined ? [one.id] : serversOf(one.id)
      for (const server of names) if (!probed.has(server)) probed.set(server, one)
    }
    const full = new Set<string>()
    await eachOf([...new Set(probed.values())], READS_AT_ONCE_MAX, async ({ id, epoch }) => {
      if (await acceptsWrites(gate, id, epoch)) return
      for (const [server, one] of probed) if (one.id === id) full.add(server)
    })
    if (full.size === 0) return
    for (const { id } of answering) {
      const names = isOneServer ? [''] : gate.servers === undefined ? [id] : serversOf(id)
      if (names.some(server => full.has(server))) away.add(id)
    }
  }

  /** @param afresh reads every item, whatever was read before */
  return async (wanted: readonly Wanted[], afresh = false) => {
    if (afresh) known = new Map()
    const items = wanted.map(({ id }) => id)
    const statuses = new Map<ItemId, GateStatus>()
    const away = new Set<ItemId>()
    let { read, settled } = choose(wanted)
    let all = read.length === 0 ? undefined : await statusOf(read.map(({ id }) => id))
    // A settled item that is not any more: its server may have lost all of them.
    const shown = new Map(all?.items.map(status => [status.item, status]))
    const lost = ({ id, isSettled }: Wanted) =>
      isSettled?.(known.get(id)?.status) === true && !isSettled(shown.get(id)) && all?.away?.includes(id) !== true
    if (all !== undefined && settled.length > 0 && read.some(lost)) {
      read = [...wanted]
      settled = []
      all = await statusOf(items)
    }
    if (all === undefined) {
      await eachOf(read, READS_AT_ONCE_MAX, async ({ id }) => {
        const one = await statusOf([id])
        if (one === undefined) away.add(id)
        for (const status of one?.items ?? []) statuses.set(id, status)
      })
    } else {
      for (const status of all.items) statuses.set(status.item, status)
      for (const item of all.away ?? []) away.add(item)
      await probe(read, all.away === undefined, away)
    }
    const awayServers = new Set([...away].flatMap(serversOf))
    for (const { id } of settled) {
      const status = known.get(id)?.status
      if (serversOf(id).some(server => awayServers.has(server))) away.add(id)
      else if (status !== undefined) statuses.set(id, status)
    }
    known = new Map(
      items.filter(id => !away.has(id)).map(id => [id, { status: statuses.get(id), servers: serversOf(id).join() }]),
    )
    const nowMs = clock.elapsed()
    since = new Map(
      items.map(item => {
        const there = !away.has(item)
        const before = since.get(item)
        return [item, before?.there === there ? before : { there, atMs: nowMs }]
      }),
    )
    return {
      of(item: ItemId): GateHealth {
        const known = since.get(item)
        const forMs = known === undefined ? 0 : nowMs - known.atMs
        return known?.there === false ? { kind: 'away', forMs } : { kind: 'there', forMs, status: statuses.get(item) }
      },
      /** The gate's clock, as early as it can have been read. Undefined: not all of it is there. */
      nowMs:
        all === undefined || (all.away?.length ?? 0) > 0 ? undefined : (all.clockMs ?? all.nowMs) - (all.behindMs ?? 0),
    }
  }
}
