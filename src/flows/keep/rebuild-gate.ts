/**
 * An item's gate, built anew from the ledger under a new epoch. Steps, each a point where the process may die:
 *
 *   1 raise      the epoch goes up and the door is draining, in one update (E3): from here no older epoch is opened again
 *   2 fence      the gate calls every older epoch stale; wait the longest fence, so that no edge still trusts an older epoch (E2, E3)
 *   3 drain      what was acknowledged under older epochs reaches the ledger (E4)
 *   4 snapshot   under the item lock: available, live orders, every attempt's outcome; gate_epoch = ours (E5, E9); loaded page by page
 *   5 activate   only if no higher epoch was seen; then the gate must show what was loaded, or it is not opened
 *   6 set door   door = gate, only if the epoch is still ours
 *
 * Dying after any of them leaves an item that is not sold until the next rebuild, which raises the epoch again; it never continues another's.
 * Before the first page is loaded a gate that does not answer is asked again under the same epoch, which is ours. Afterwards it is given
 * up: the ledger goes on, and pages of two snapshots under one epoch would contradict each other.
 * An item whose epoch was 0 was never sold: there is no process to fence off and nothing to drain.
 */

import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Terms } from '../../gate/gate.ts'
import type { Rights } from '../../ledger/rights.ts'
import { drain, fenceWaitMs } from './drain.ts'
import type { TaskContext } from './keep-context.ts'

const TRIES_MAX = 10
const TRY_AGAIN_MS = 200

/**
 * The epoch that now sells, or undefined when another process has taken over meanwhile, or the gate could not be opened.
 * @param compact few units are left: the gate does not spread them, however many come back until it is built
 * @param beforeOpening between activation and opening: what must be ready, and what the ledger has said meanwhile
 */
export async function rebuildGate(
  context: TaskContext,
  item: ItemId,
  compact: boolean,
  beforeOpening: (epoch: Epoch) => Promise<void>,
): Promise<Epoch | undefined> {
  const { gate, rights, clock } = context
  const epoch = await rights.raiseEpoch(item)
  await faultPoint('rebuild.bumped')

  const waitMs = epoch > 1 ? await fenceWaitMs(context) : 0
  if (waitMs > 0) {
    // Early, so that little is reserved that must be drained; a gate that does not answer now is fenced after the wait.
    const fenced = await onFault(
      () => gate.fence(item, epoch),
      () => undefined,
    )
    if (fenced?.status === 'stale') return undefined
    await clock.sleep(waitMs)
  }
  return openGate(context, item, epoch, compact, beforeOpening)
}

/** Steps 3 to 6, under an own epoch whose fence has been waited for. */
export async function openGate(
  context: TaskContext,
  item: ItemId,
  epoch: Epoch,
  compact: boolean,
  beforeOpening: (epoch: Epoch) => Promise<void>,
): Promise<Epoch | undefined> {
  const { gate, rights, maySell } = context
  if (!(await emptied(context, item, epoch, epoch > 1))) return undefined
  await faultPoint('rebuild.drained')
  if (!maySell()) return undefined

  const terms = await loaded(context, item, epoch, compact)
  if (terms === undefined || !maySell()) return undefined
  if ((await gate.activate(item, epoch, terms)).status !== 'done') return undefined
  await faultPoint('rebuild.activated')
  if (!(await verified(context, item, epoch, terms))) return undefined

  await beforeOpening(epoch)
  if (!maySell()) return undefined
  const set = await rights.setDoor(item, epoch, 'gate')
  await faultPoint('door.turned')
  return set ? epoch : undefined
}

/** The gate is fenced, and nothing acknowledged under an older epoch is outside the ledger. */
async function emptied(context: TaskContext, item: ItemId, epoch: Epoch, sold: boolean): Promise<boolean> {
  const { gate, clock, maySell } = context
  for (let tries = 1; ; tries++) {
    try {
      const fenced = await gate.fence(item, epoch)
      await faultPoint('rebuild.fenced')
      if (fenced.status === 'stale') return false
      // Drained only behind this fence: a gate that was another meanwhile is fenced and drained again.
      if (fenced.status === 'done') return !sold || (await drain(context, item, epoch, true)) !== undefined
    } catch (error) {
      if (!(error instanceof Fault) || tries === TRIES_MAX) throw error
    }
    if (tries === TRIES_MAX || !maySell()) return false
    await clock.sleep(TRY_AGAIN_MS)
  }
}

async function loaded(context: TaskContext, item: ItemId, epoch: Epoch, compact: boolean): Promise<Terms | undefined> {
  let all = true
  const onPage: Parameters<Rights['snapshot']>[2] = async page => {
    if (all) all = (await context.gate.load(item, epoch, page)).status === 'done'
    await faultPoint('rebuild.loaded')
  }
  const terms = await context.rights.snapshot(item, epoch, onPage, compact)
  await faultPoint('rebuild.snapshot')
  if (terms === undefined || !all) return undefined
  const { available, gateShards, olderVersions, ...rest } = terms
  if (olderVersions)
    context.log.warn(
      { event: 'older_process', item, epoch },
      'a process of an older version runs: the gate has one shard until the next rebuild',
    )
  return { ...rest, left: available }
}

/** Read by another way than it was written: nothing is sold yet, so the gate shows exactly what the ledger had. */
async function verified(context: TaskContext, item: ItemId, epoch: Epoch, terms: Terms): Promise<boolean> {
  const status = await context.statusOf(item)
  const { left, held, buyers } = terms
  const same = status?.epoch === epoch && status.left === left && status.held === held && status.buyers === buyers
  if (!same)
    context.log.error(
      { event: 'gate_load_wrong', item, epoch, left, held, buyers, status },
      'the gate does not show what was loaded into it; the item is not opened',
    )
  return same
}
