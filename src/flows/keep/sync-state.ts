/**
 * What the ledger says of a sale (its state, its window) reaches the gate. The ledger moves first, always, and numbers its states: the gate ignores
 * a lower number than the one it has, so a stale state never undoes a later one.
 *
 * `sync` is the operator's: it writes the state to the gate and answers when every shard of the sale shows this very number. `repeat` is
 * the controller's, for a process that died between ledger and gate. Beside processes of a version that does not number states the number
 * alone is not enough: so a difference is checked against a fresh read of the ledger; one that would let more buyers in only counts when two
 * rounds in a row have seen it; and after writing the ledger is read once more. `over` is never taken back.
 */

import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate, GateState, GateStatus, WindowState } from '../../gate/gate.ts'
import type { Sales, SaleWindow } from '../../ledger/sales.ts'

interface SyncStateContext {
  readonly clock: Clock
  readonly sales: Pick<Sales, 'find'>
  readonly gate: Pick<Gate, 'status' | 'set'>
  readonly waitMsMax: number
  /** The process has something new to follow or to build. */
  readonly wake: () => void
}

/** True: the gate has the sale as the ledger has it. `warm`: every item must be there to be sold. */
export type SyncState = (sale: SaleId, warm: boolean) => Promise<boolean>

const READ_AGAIN_MS = 50
const WRITES_MAX = 3
const NO_ANSWER = () => undefined
const STRICTNESS: Readonly<Record<GateState, number>> = { open: 0, paused: 1, over: 2 }

/** The state as the gate has it; the window does the rest. */
export function windowStateOf({ state, stateNo, opensAtMs, closesAtMs }: SaleWindow): WindowState {
  return { stateNo, state: state === 'ready' ? 'open' : state === 'paused' ? 'paused' : 'over', opensAtMs, closesAtMs }
}

/** It is not enough that the state is the right one: it must have this very number, or an older one under way could still undo it. */
export function shows(status: GateStatus, sale: SaleWindow): boolean {
  const { stateNo, state, opensAtMs, closesAtMs } = windowStateOf(sale)
  const same = status.stateNo === stateNo && status.state === state && status.uneven !== true
  return same && status.opensAtMs === opensAtMs && status.closesAtMs === closesAtMs
}

/** Items that no process sells have nothing to show; when the sale is to be warm they are not ready. */
export function createSyncState({ sales, gate, clock, waitMsMax, wake }: SyncStateContext): SyncState {
  return async (id, warm) => {
    const untilMs = clock.elapsed() + waitMsMax
    for (;;) {
      const sale = await sales.find(id)
      if (sale === undefined || (await synced(sale, warm))) return true
      if (clock.elapsed() >= untilMs) return false
      wake()
      await clock.sleep(READ_AGAIN_MS)
    }
  }

  /** One try: an item that does not show the state is written, and read again by the next try. */
  async function synced(sale: Sale, warm: boolean): Promise<boolean> {
    const reply = await onFault(() => gate.status(sale.items.map(item => item.id)), NO_ANSWER)
    const statuses = new Map(reply?.items.map(status => [status.item, status]))
    let all = true
    for (const item of sale.items) {
      // Behind these doors the ledger judges, or nothing is sold: neither asks a gate.
      if (item.door === 'ledger' || (item.door === 'shut' && !warm)) continue
      const status = statuses.get(item.id)
      if (item.door === 'gate' && status?.epoch === item.epoch && shows(status, sale)) continue
      all = false
      if (item.door === 'gate' && status?.epoch === item.epoch)
        await onFault(() => gate.set(item.id, item.epoch, windowStateOf(sale)), NO_ANSWER)
    }
    return all
  }
}

/** The function that repeats; it leaves faults to the next round. */
export function createStateRepeater(
  gate: Pick<Gate, 'set'>,
  sales: Pick<Sales, 'find'>,
  /** The item is built anew under the next epoch. */
  rebuild: (item: ItemId) => Promise<unknown>,
): (sale: Sale, item: Item, status: GateStatus) => Promise<void> {
  /** What was missing at the last round. */
  const missing = new Map<ItemId, string>()

  async function write(id: SaleId, item: Item, status: GateStatus, seenBefore: string | undefined): Promise<void> {
    let shown = status
    for (let i = 0; i < WRITES_MAX; i++) {
      const sale = await sales.find(id)
      if (sale === undefined || shows(shown, sale) || isOver(status, sale)) return
      const state = windowStateOf(sale)
      const twice = seenBefore === nameOf(sale, item)
      // Read after the status: only a ledger that has lost its last moves is behind, and then no state of it would be taken.
      if (i === 0 && shown.stateNo > state.stateNo) {
        if (twice) await rebuild(item.id)
        return
      }
      const stricter = STRICTNESS[state.state] > STRICTNESS[shown.state]
      if (i === 0 && !stricter && !twice) return
      const done = await gate.set(item.id, item.epoch, state)
      if (done.status !== 'done') return
      shown = { ...shown, ...state, uneven: false }
    }
  }

  return async (sale, item, status) => {
    const seenBefore = missing.get(item.id)
    missing.delete(item.id)
    if (shows(status, sale)) return
    missing.set(item.id, nameOf(sale, item))
    await onFault(() => write(sale.id, item, status, seenBefore), NO_ANSWER)
  }
}

/** Nothing is left to be written, unless some shards have not heard of the end. */
function isOver(status: GateStatus, sale: Sale): boolean {
  return status.state === 'over' && !(status.uneven === true && windowStateOf(sale).state === 'over')
}

function nameOf(sale: Sale, item: Item): string {
  return `${item.epoch} ${JSON.stringify(windowStateOf(sale))}`
}
