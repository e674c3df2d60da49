/**
 * Is the gate there? One look for all items; when that fails, one for each. Items may live on different servers: then the look says of
 * whom nothing is known. Remembers since when each has been there or away, on the monotonic clock. A process that has just started knows
 * of no past: what it finds away is away since now.
 *
 * A look only reads. A gate that is full, can't write or follows another answers it, and takes nothing: that one is as good as away. So it
 * is also asked for nothing, which it only answers if it would take something: once, where one server has all items, else for each.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Gate, GateStatus, GateStatusReply } from '../../gate/gate.ts'
import type { GateHealth } from './plan-item.ts'

interface GateHealthWatch {
  /** Forgets items that are not asked for any more. */
  look(items: readonly Pick<Item, 'id' | 'epoch'>[]): Promise<{
    of(item: ItemId): GateHealth
    /** The gate's clock, as early as it can have been read. Undefined: not all of it is there. */
    readonly nowMs: number | undefined
  }>
}

const LOOKS_AT_ONCE_MAX = 16

export function createGateHealth(gate: Pick<Gate, 'status' | 'reserve'>, clock: Clock): GateHealthWatch {
  let since = new Map<ItemId, { readonly there: boolean; readonly atMs: number }>()

  async function ask(items: readonly ItemId[]): Promise<GateStatusReply | undefined> {
    try {
      return await gate.status(items)
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }

  /** Whatever it says of the epoch. */
  async function takes({ id, epoch }: Pick<Item, 'id' | 'epoch'>): Promise<boolean> {
    try {
      const { status } = await gate.reserve(id, epoch, [])
      return status !== 'busy' && status !== 'unknown'
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }

  return {
    async look(wanted) {
      const items = wanted.map(({ id }) => id)
      const looks = new Map<ItemId, GateStatus>()
      const away = new Set<ItemId>()
      const all = items.length === 0 ? undefined : await ask(items)
      if (all !== undefined) {
        for (const look of all.items) looks.set(look.item, look)
        for (const item of all.away ?? []) away.add(item)
        // One server: one of them speaks for all.
        if (all.away === undefined && !(await takes(wanted[0]!))) for (const item of items) away.add(item)
        if (all.away !== undefined)
          await inTurns(wanted, async item => {
            if (!away.has(item.id) && !(await takes(item))) away.add(item.id)
          })
      } else {
        await inTurns(items, async item => {
          const one = await ask([item])
          if (one === undefined) away.add(item)
          for (const look of one?.items ?? []) looks.set(item, look)
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
        of(item) {
          const reached = since.get(item)
          const forMs = reached === undefined ? 0 : nowMs - reached.atMs
          return reached?.there === false ? { kind: 'away', forMs } : { kind: 'there', forMs, look: looks.get(item) }
        },
        nowMs:
          all === undefined || (all.away?.length ?? 0) > 0
            ? undefined
            : (all.clockMs ?? all.nowMs) - (all.behindMs ?? 0),
      }
    },
  }
}

async function inTurns<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < all.length; i += LOOKS_AT_ONCE_MAX)
    await Promise.all(all.slice(i, i + LOOKS_AT_ONCE_MAX).map(act))
}
