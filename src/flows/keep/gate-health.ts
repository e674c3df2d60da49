/**
 * Does the gate answer? One read for all items; when that fails, one for each. Items may live on different servers: then the reply says of
 * which nothing is known. Remembers since when each has been there or away, on the monotonic clock. A process that has just started knows of
 * no past: what it finds away is away since now.
 *
 * A status only reads. A gate that is full, can't write or follows another answers it, and takes nothing: that one counts as away. So an
 * empty reserve is the probe: it succeeds only if the server accepts writes. Once, where one server has all items, else for each.
 */

import type { Clock } from '../../base/clock.ts'
import { eachOf } from '../../base/each-of.ts'
import { onFault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Gate, GateStatus, GateStatusReply } from '../../gate/gate.ts'
import type { GateHealth } from './plan-item.ts'

const READS_AT_ONCE_MAX = 16
const NO_ANSWER = () => undefined

/** Whatever it says of the epoch. */
export async function acceptsWrites(gate: Pick<Gate, 'reserve'>, item: ItemId, epoch: Epoch): Promise<boolean> {
  const reply = await onFault(() => gate.reserve(item, epoch, []), NO_ANSWER)
  return reply !== undefined && reply.status !== 'busy' && reply.status !== 'unknown'
}

/** The function that reads; it forgets items that are not asked for any more. */
export function createGateHealth(gate: Pick<Gate, 'status' | 'reserve'>, clock: Clock) {
  let since = new Map<ItemId, { readonly there: boolean; readonly atMs: number }>()

  function statusOf(items: readonly ItemId[]): Promise<GateStatusReply | undefined> {
    return onFault(() => gate.status(items), NO_ANSWER)
  }

  return async (wanted: readonly Pick<Item, 'id' | 'epoch'>[]) => {
    const items = wanted.map(({ id }) => id)
    const statuses = new Map<ItemId, GateStatus>()
    const away = new Set<ItemId>()
    const all = items.length === 0 ? undefined : await statusOf(items)
    if (all === undefined) {
      await eachOf(items, READS_AT_ONCE_MAX, async item => {
        const one = await statusOf([item])
        if (one === undefined) away.add(item)
        for (const status of one?.items ?? []) statuses.set(item, status)
      })
    } else {
      for (const status of all.items) statuses.set(status.item, status)
      for (const item of all.away ?? []) away.add(item)
      // One server: one of them answers for all.
      if (all.away === undefined && !(await acceptsWrites(gate, items[0]!, wanted[0]!.epoch)))
        for (const item of items) away.add(item)
      if (all.away !== undefined)
        await eachOf(wanted, READS_AT_ONCE_MAX, async ({ id, epoch }) => {
          if (!away.has(id) && !(await acceptsWrites(gate, id, epoch))) away.add(id)
        })
    }
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
