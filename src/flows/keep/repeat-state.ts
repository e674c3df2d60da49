/**
 * What the ledger says of a sale is told to a gate that shows something else. An operator's move goes to the ledger first and then, by
 * whoever moved it, to the gate; this is for when that one died on the way. It must never undo a later move: the gate takes no word with a
 * lower number than the one it has. Beside processes of a version that does not count them this is not enough, so a difference is checked
 * against a fresh read of the ledger, one that would let more in only counts when two rounds in a row have seen it, and after telling the
 * ledger is read once more. `over` is never taken back.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate, GateState, GateStatus } from '../../gate/gate.ts'
import type { Sales } from '../../ledger/sales.ts'
import { shows, windowStateOf } from './sync-state.ts'

interface StateSync {
  /** Faults are left to the next round. */
  look(sale: Sale, item: Item, look: GateStatus): Promise<void>
}

const STRICTNESS: Readonly<Record<GateState, number>> = { open: 0, paused: 1, over: 2 }
const TELLS_MAX = 3

export function createStateSync(
  gate: Pick<Gate, 'set'>,
  sales: Pick<Sales, 'find'>,
  /** The item is built anew under the next epoch. */
  rebuild: (item: ItemId) => Promise<unknown>,
): StateSync {
  /** What was missing when it was last looked at. */
  const missing = new Map<ItemId, string>()

  async function tell(id: Sale['id'], item: Item, look: GateStatus, seenBefore: string | undefined): Promise<void> {
    let shown = look
    for (let i = 0; i < TELLS_MAX; i++) {
      const sale = await sales.find(id)
      if (sale === undefined || shows(shown, sale) || isOver(look, sale)) return
      const word = windowStateOf(sale)
      // Read after the look: only a ledger that has lost its last moves is behind, and then no word of it would be taken.
      if (i === 0 && shown.stateNo > word.stateNo) {
        if (seenBefore === wishOf(sale, item)) await rebuild(item.id)
        return
      }
      const stricter = STRICTNESS[word.state] > STRICTNESS[shown.state]
      if (i === 0 && !stricter && seenBefore !== wishOf(sale, item)) return
      const done = await gate.set(item.id, item.epoch, word)
      if (done.status !== 'done') return
      shown = { ...shown, ...word, uneven: false }
    }
  }

  return {
    async look(sale, item, look) {
      const seenBefore = missing.get(item.id)
      missing.delete(item.id)
      if (shows(look, sale)) return
      missing.set(item.id, wishOf(sale, item))
      try {
        await tell(sale.id, item, look, seenBefore)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
      }
    },
  }
}

/** Nothing is left to be told. Of several places some may not have heard of the end: then they are told. */
function isOver(look: GateStatus, sale: Sale): boolean {
  return look.state === 'over' && !(look.uneven === true && windowStateOf(sale).state === 'over')
}

function wishOf(sale: Sale, item: Item): string {
  const { stateNo, state, opensAtMs, closesAtMs } = windowStateOf(sale)
  return `${item.epoch} ${stateNo} ${state} ${opensAtMs} ${closesAtMs}`
}
