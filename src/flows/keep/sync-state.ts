/**
 * What the ledger says of a sale (its state, its window) reaches the gate, and whoever asked hears so when every place of the sale in the
 * gate shows it. Items that nobody sells have nothing to show; when the sale is to be warm they are not ready.
 *
 * The ledger moves first, always, and numbers its words: a gate that was told something else meanwhile is told again by whoever looks next,
 * and one that was told a later word keeps it. So it is not enough that the gate shows the right state: before anybody is answered it must
 * have this very word, or one that was overtaken on its way could still undo it.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Loop } from '../../base/loop.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate, GateStatus, WindowState } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { Registry } from '../sell/live-item.ts'

/** True: the gate has the sale as the ledger has it. `warm`: every item must be there to be sold. */
export type SyncState = (sale: SaleId, warm: boolean) => Promise<boolean>

/** What the gate is told of a sale; the window does the rest. */
export function windowStateOf({ state, stateNo, opensAtMs, closesAtMs }: Omit<Sale, 'items'>): WindowState {
  return { stateNo, state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over', opensAtMs, closesAtMs }
}

export function shows(look: GateStatus, sale: Sale): boolean {
  const { stateNo, state, opensAtMs, closesAtMs } = windowStateOf(sale)
  const told = look.stateNo === stateNo && look.state === state && look.uneven !== true
  return told && look.opensAtMs === opensAtMs && look.closesAtMs === closesAtMs
}

/** With a gate in the process: the keeper's next round does it. */
export function syncStateNear(parts: {
  readonly sales: Pick<Sales, 'find'>
  readonly keeper: Pick<Loop, 'round'>
  readonly near: Pick<LocalView, 'statusNow'>
  readonly registry: Registry
}): SyncState {
  return async (id, warm) => {
    await parts.keeper.round()
    const sale = await parts.sales.find(id)
    if (sale === undefined) return true
    return sale.items.every(item => {
      const look = parts.registry.get(item.id)?.current ? parts.near.statusNow(item.id) : undefined
      if (look === undefined) return !warm
      return sale.state === 'over' || shows(look, sale)
    })
  }
}

const PASS_ON_MS_MAX = 3_000
const LOOK_AGAIN_MS = 50

/** With a gate elsewhere: whoever moved the sale tells the gate itself; the keeper does the same if that dies on the way. */
export function syncStateFar(parts: {
  readonly sales: Pick<Sales, 'find'>
  readonly gate: Pick<Gate, 'status' | 'set'>
  readonly clock: Clock
}): SyncState {
  const { sales, gate, clock } = parts
  return async (id, warm) => {
    const untilMs = clock.elapsed() + PASS_ON_MS_MAX
    for (;;) {
      const sale = await sales.find(id)
      if (sale === undefined) return true
      if (await passedOn(sale, warm)) return true
      if (clock.elapsed() >= untilMs) return false
      await clock.sleep(LOOK_AGAIN_MS)
    }
  }

  /** One try: whatever does not show it is told, and looked at again. */
  async function passedOn(sale: Sale, warm: boolean): Promise<boolean> {
    const before = await looks(sale)
    let all = true
    for (const item of sale.items) {
      // Behind these doors the ledger judges, or nobody sells: neither asks a gate.
      if (item.door === 'ledger' || (item.door === 'shut' && !warm)) continue
      const look = before?.get(item.id)
      if (item.door !== 'gate' || look?.epoch !== item.epoch) all = false
      else if (!shows(look, sale)) {
        all = false
        await tell(item, sale)
      }
    }
    return all
  }

  async function tell(item: Item, sale: Sale): Promise<void> {
    try {
      await gate.set(item.id, item.epoch, windowStateOf(sale))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
    }
  }

  async function looks(sale: Sale): Promise<ReadonlyMap<string, GateStatus> | undefined> {
    try {
      const reply = await gate.status(sale.items.map(item => item.id))
      return new Map(reply.items.map(look => [look.item, look]))
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }
}
