/**
 * An item's place in the gate, built anew from the ledger under a new epoch. Steps, each a place where the process may die:
 *
 *   1 bump       the epoch goes up and the door is draining, in one update (E3): from here no older epoch is opened again
 *   2 fence      the gate calls every older epoch stale; wait the longest fence, so that no edge still trusts an older epoch (E2, E3)
 *   3 drain      with a gate elsewhere: what was acknowledged under older epochs reaches the ledger (E4)
 *   4 snapshot   under the item lock: available, live orders, every attempt's outcome; gate_epoch = ours (E5, E9); loaded page by page
 *   5 activate   only if no higher epoch was seen; then the gate must show what was loaded, or it is not opened
 *   6 turn       door = gate, only if the epoch is still ours
 *
 * Dying after any of them leaves an item that nobody sells until the next rebuild, which bumps again; it never continues another's epoch.
 * Before the first page is loaded a gate that does not answer is asked again under the same epoch, which is ours. Afterwards it is given
 * up: the ledger goes on, and pages of two snapshots under one epoch would contradict each other.
 * An item whose epoch was 0 was never sold: there is nobody to fence off and nothing to drain.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Done, Gate, Terms } from '../../gate/gate.ts'
import type { Rights } from '../../ledger/rights.ts'

/** What a gate outside the process needs beside the steps. */
interface FarRebuild {
  /** Is it still this process's to do? Asked between the steps. */
  readonly mayGoOn: () => boolean
  /** E2: so long edges may go on acknowledging under what they read before the bump, whatever this process is configured with. */
  readonly longestFenceMs: () => Promise<number>
  /** E4. False: not ours any more, or it takes too long. */
  readonly drain: (item: ItemId, epoch: Epoch) => Promise<boolean>
  /** Few units are left: the gate does not spread them, however many come back until it is built. */
  readonly compact: boolean
  /** Between activation and opening: what must be ready, and what the ledger has said meanwhile. */
  readonly beforeOpening: (item: ItemId, epoch: Epoch) => Promise<void>
}

interface RebuildParts {
  readonly gate: Gate
  readonly rights: Rights
  readonly clock: Clock
  readonly log: Log
  /** 0 behind an in-process gate: there the acknowledgement is itself the commit that checks the epoch under the item lock. */
  readonly fenceMs: number
  readonly far?: FarRebuild
}

/** Timers fire a little early now and then, and two machines' clocks do not run equally fast. */
export const FENCE_MARGIN_MS = 50
const TRIES_MAX = 10
const TRY_AGAIN_MS = 200

/** The epoch that now sells, or undefined when somebody else has taken over meanwhile, or the gate could not be opened. */
export async function rebuildGate(parts: RebuildParts, item: ItemId): Promise<Epoch | undefined> {
  const { gate, rights, fenceMs, far } = parts
  const epoch = await rights.raiseEpoch(item)
  await faultPoint('rebuild.bumped')

  const sold = epoch > 1
  const waitMs = sold ? Math.max(fenceMs, (await far?.longestFenceMs()) ?? 0) : 0
  if (waitMs > 0) {
    // Early, so that little is reserved that must be drained; a gate that does not answer now is fenced after the wait.
    if ((await answerOf(() => gate.fence(item, epoch))) === 'stale') return undefined
    await parts.clock.sleep(waitMs + FENCE_MARGIN_MS)
  }
  if (!(await emptied(parts, item, epoch, sold))) return undefined
  await faultPoint('rebuild.drained')
  if (far?.mayGoOn() === false) return undefined

  const terms = await loaded(parts, item, epoch)
  if (terms === undefined || far?.mayGoOn() === false) return undefined
  if ((await gate.activate(item, epoch, terms)).status !== 'done') return undefined
  await faultPoint('rebuild.activated')
  if (!(await verified(parts, item, epoch, terms))) return undefined

  await far?.beforeOpening(item, epoch)
  if (far?.mayGoOn() === false) return undefined
  const turned = await rights.setDoor(item, epoch, 'gate')
  await faultPoint('door.turned')
  return turned ? epoch : undefined
}

/** The gate is fenced, and nothing acknowledged under an older epoch is outside the ledger. */
async function emptied(parts: RebuildParts, item: ItemId, epoch: Epoch, sold: boolean): Promise<boolean> {
  const { gate, clock, far } = parts
  for (let tries = 1; ; tries++) {
    try {
      const fenced = await gate.fence(item, epoch)
      await faultPoint('rebuild.fenced')
      if (fenced.status === 'stale') return false
      // Drained only behind this fence: a gate that was another meanwhile is fenced and drained again.
      if (fenced.status === 'done') return far === undefined || !sold || (await far.drain(item, epoch))
    } catch (error) {
      if (!(error instanceof Fault) || far === undefined || tries === TRIES_MAX) throw error
    }
    if (far === undefined || tries === TRIES_MAX || !far.mayGoOn()) return false
    await clock.sleep(TRY_AGAIN_MS)
  }
}

async function loaded(parts: RebuildParts, item: ItemId, epoch: Epoch): Promise<Terms | undefined> {
  let all = true
  const onPage: Parameters<Rights['snapshot']>[2] = async page => {
    if (all) all = (await parts.gate.load(item, epoch, page)).status === 'done'
    await faultPoint('rebuild.loaded')
  }
  const terms = await parts.rights.snapshot(item, epoch, onPage, parts.far?.compact ?? true)
  await faultPoint('rebuild.snapshot')
  if (terms === undefined || !all) return undefined
  const { available, gateShards, olderVersions, ...rest } = terms
  if (olderVersions)
    parts.log.warn({ item, epoch }, 'a process of an older version runs: the gate has one shard until the next rebuild')
  return { ...rest, left: available }
}

/** By another road than it was written: nobody sells yet, so the gate shows exactly what the ledger had. */
async function verified(parts: RebuildParts, item: ItemId, epoch: Epoch, terms: Terms): Promise<boolean> {
  const [look] = (await parts.gate.status([item])).items
  const same =
    look?.epoch === epoch && look.left === terms.left && look.held === terms.held && look.buyers === terms.buyers
  if (!same)
    parts.log.error(
      { item, epoch, left: terms.left, held: terms.held, buyers: terms.buyers, look },
      'the gate does not show what was loaded into it; the item is not opened',
    )
  return same
}

/** `unknown` also when no answer came. */
async function answerOf(call: () => Promise<Done>): Promise<Done['status']> {
  try {
    return (await call()).status
  } catch (error) {
    if (error instanceof Fault) return 'unknown'
    throw error
  }
}
