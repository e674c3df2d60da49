/**
 * What the tasks of many items ask of the gate and its outbox at the same time is one call for all of them. If that fails, each is asked for alone: it may
 * live on another server.
 */

import { together } from '../../base/batching/together.ts'
import { onFault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Gate, GateStatus } from '../../gate/gate.ts'
import type { KeepContext } from './keep-context.ts'

/** Items of one call: the server does nothing else meanwhile. */
const ITEMS_MAX = 500

/** Undefined: the gate does not show the item. Throws as the gate does. */
export function statusTogether(gate: Pick<Gate, 'status'>): (item: ItemId) => Promise<GateStatus | undefined> {
  const read = together<ItemId, { readonly status: GateStatus | undefined } | undefined>(ITEMS_MAX, async items => {
    const reply = await onFault(() => gate.status([...new Set(items)]))
    if (reply === undefined) return items.map(() => undefined)
    const byItem = new Map(reply.items.map(status => [status.item, status]))
    const away = new Set(reply.away)
    return items.map(item => (away.has(item) ? undefined : { status: byItem.get(item) }))
  })
  return async item => {
    const known = await read(item)
    return known === undefined ? (await gate.status([item])).items[0] : known.status
  }
}

type Depths = Awaited<ReturnType<KeepContext['outbox']['depth']>>

/** Decorator: reads of one item's outbox share a call. */
export function depthTogether(outbox: KeepContext['outbox']): KeepContext['outbox'] {
  const depthOf = together<ItemId, Depths | undefined>(ITEMS_MAX, async items => {
    const depths = await onFault(() => outbox.depth([...new Set(items)]))
    const byItem = new Map(depths?.map(depth => [depth.item, [depth]]))
    return items.map(item => byItem.get(item))
  })
  return {
    async depth(items) {
      const [item] = items
      const one = items.length === 1 && item !== undefined ? await depthOf(item) : undefined
      return one ?? outbox.depth(items)
    },
  }
}
