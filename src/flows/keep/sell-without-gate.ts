/**
 * An item is sold without a gate: by the ledger itself, or not at all. Because the gate is away (E10), or because the item's home is behind the
 * ledger's door. Steps: raise the epoch (E3), wait the longest fence (E2), drain without the outbox (E4), set the door. Dying after any of
 * them leaves a door that is draining; the next round raises the epoch again.
 *
 * A gate that is back by the end of a wait is opened at once, under the same epoch: turning to the ledger and back would cost the item
 * another fence. Not one that goes again and again: each time would cost a fence, and the ledger can sell meanwhile. Where it may not
 * (`whenGateDown`, E10), such a gate is still the better one.
 *
 * If a process lapsed without a word while the gate is away, what it acknowledged last may be on the gate's disk alone: then the door is
 * shut, until the gate is back or an operator decides (`openLedgerDoor`).
 */

import { onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Epoch } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import { drain, fenceWaitMs } from './drain.ts'
import { acceptsWrites } from './gate-health.ts'
import type { KeepContext } from './keep-context.ts'

/**
 * The door that is set now, or undefined when another process has taken over meanwhile, or the gate that is back could not be opened.
 * @param isTrusted the gate does not go again and again
 * @param reopen opens the gate that is back, under the epoch raised here; undefined when it could not
 */
export async function sellWithoutGate(
  context: KeepContext,
  item: Item,
  home: Door,
  isTrusted: boolean,
  reopen: (epoch: Epoch) => Promise<Epoch | undefined>,
): Promise<Door | undefined> {
  const epoch = await context.rights.raiseEpoch(item.id)
  await faultPoint('rebuild.bumped')
  const fence = () => onFault(() => context.gate.fence(item.id, epoch))
  // A gate that is full is fenced all the same, and could not be loaded: as long as it takes no writes it is away.
  const isBack = async () =>
    home === 'gate' && (await fence())?.status === 'done' && (await acceptsWrites(context.gate, item.id, epoch))
  const open = async () => ((await reopen(epoch)) === undefined ? undefined : 'gate')
  let lapsed = 0
  // An item whose epoch was 0 was never sold: there is no process to wait for.
  if (epoch > 1) {
    await context.clock.sleep(await fenceWaitMs(context))
    if (isTrusted && (await isBack())) return open()
    const drained = await drain(context, item.id, epoch, false)
    if (drained === undefined) return undefined
    lapsed = drained.lapsed
  }
  const ledgerSells = item.whenGateDown === 'ledger' && lapsed === 0
  if ((isTrusted || !ledgerSells) && (await isBack())) return open()
  await faultPoint('rebuild.drained')
  if (!context.maySell()) return undefined

  // An item whose home is the ledger was never behind a gate: nothing was ever acknowledged outside the ledger.
  const door = home === 'ledger' ? 'ledger' : lapsed > 0 ? 'shut' : item.whenGateDown
  if (!(await context.rights.setDoor(item.id, epoch, door))) return undefined
  await faultPoint('door.turned')
  if (home === 'gate' && lapsed > 0) {
    context.meters.count('alarms', 'door_shut')
    context.log.error(
      { event: 'item_shut', alarm: 'door_shut', item: item.id, epoch, lapsed },
      'the gate is away, and a process that sold this item is gone without a word: what it told buyers last may be on the gate’s disk alone. ' +
        'The item is not sold until the gate is back. Bring it back with its data; or, if that is lost, open the ledger door ' +
        '(POST /api/admin/sales/{sale}/items/{item}/door), which may turn such a reservation into a refusal',
    )
  } else context.log.warn({ event: 'sold_without_gate', item: item.id, epoch, door }, 'the item is sold without a gate')
  return door
}
