/**
 * Moves units of an item between its shards, from where no buyer asks for them to where one does. By the acting keeper, item by item, one
 * move after the other. Steps, after each of which the process may die:
 *
 *   1 ask      a row in the journal says from where, to where and how many; only while the gate of this epoch sells the item
 *   2 take     the first shard gives up what it has of them, under the row's number
 *   3 journal  how many that were is written into the row
 *   4 give     the second shard gets exactly those, under the same number
 *   5 done     the row says so
 *
 * Dying after any of them leaves the row, and the units in one shard, in the other, or stranded between the two; the next round, or the next
 * keeper, goes on with the same number. A shard takes part in a number once and repeats its answer, so no unit is there twice. Two
 * keepers that believe they act do the same steps of the same move. When the epoch is over the move is void: the next gate is built from
 * what is available in the ledger, which does not know in which shard the units are.
 */

import { assert } from '../../base/assert.ts'
import { eachOf } from '../../base/each-of.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Gate, GateStatus } from '../gate.ts'
import { planMove } from './plan-move.ts'
import type { ShardCounts } from './shard-counts.ts'
import type { ShardGate } from './shard-gate.ts'

interface OpenMove {
  readonly item: ItemId
  readonly no: number
  readonly epoch: Epoch
  /** Numbers of shards. */
  readonly from: number
  readonly to: number
  readonly wanted: number
  /** Undefined: not journalled yet. They may have left their shard all the same. */
  readonly taken: number | undefined
  /** The gate it began in still sells the item. False: it never will again, so there is nothing to finish. */
  readonly current: boolean
}

/** Outlives every process. One move of an item is under way at a time; numbers go up. */
interface MoveJournal {
  /** Over all items. */
  open(): Promise<readonly OpenMove[]>
  /** Its number. Undefined: another is under way, or this epoch's gate does not sell the item; nothing was written. */
  ask(item: ItemId, epoch: Epoch, move: Pick<OpenMove, 'from' | 'to' | 'wanted'>): Promise<number | undefined>
  /** False: another keeper has ended the move meanwhile, or has journalled something else. */
  taken(item: ItemId, no: number, taken: number): Promise<boolean>
  end(item: ItemId, no: number, how: 'done' | 'void'): Promise<void>
}

interface MoveUnitsParts {
  readonly gate: Pick<Gate, 'status'>
  readonly shardGate: Pick<ShardGate, 'move'>
  readonly counts: Pick<ShardCounts, 'of'>
  readonly journal: MoveJournal
  /** Items that the gate sells now, with their epoch. */
  readonly items: () => Iterable<{ readonly item: ItemId; readonly epoch: Epoch }>
  readonly log: Log
  /** Does this keeper act? */
  readonly mayMove: () => boolean
}

/** A refusal longer ago does not count: a buyer who still wants the units asks again within a second. */
const WAITS_MS = 2_000

/** Finishes what was begun, then moves what is wanted elsewhere. One item whose gate is away does not hold up the others. */
export async function moveUnits(parts: MoveUnitsParts): Promise<void> {
  const begun = await parts.journal.open()
  const serveAll = async () => {
    const items = [...parts.items()].filter(({ item, epoch }) => (parts.counts.of(item, epoch) ?? 1) > 1)
    if (items.length === 0) return
    const { items: statuses } = await parts.gate.status(items.map(({ item }) => item))
    await eachOf(statuses, 1, status => serve(parts, status))
  }
  const steps = [...begun.map(move => () => finish(parts, move)), serveAll]
  await eachOf(steps, 1, async step => (parts.mayMove() ? step() : undefined))
}

/** Until no buyer waits who could be served, as far as the status shows; at most a move for each shard. */
async function serve(parts: MoveUnitsParts, { item, epoch, shards }: GateStatus): Promise<void> {
  if (shards === undefined) return
  const waits = (waitedMs = Number.POSITIVE_INFINITY) => waitedMs < WAITS_MS
  const stocks = shards.map(({ left, wants, waitedMs }) => ({ left, wants: waits(waitedMs) ? wants : 0 }))
  for (let i = 0; i < shards.length && parts.mayMove(); i++) {
    const plan = planMove(stocks)
    if (plan === undefined) return
    const { from, to, units } = plan
    const no = await parts.journal.ask(item, epoch, { from, to, wanted: units })
    if (no === undefined) return
    await faultPoint('move.asked')
    const moved = await finish(parts, { item, no, epoch, from, to, wanted: units, taken: undefined, current: true })
    if (moved === undefined) return
    // Fewer than wanted: the rest was sold meanwhile.
    stocks[from] = { ...stocks[from]!, left: moved < units ? 0 : stocks[from]!.left - moved }
    stocks[to] = { ...stocks[to]!, left: stocks[to]!.left + moved }
  }
}

/** How many units have arrived. Undefined: not finished, or not by this keeper; the next round goes on. */
async function finish(parts: MoveUnitsParts, move: OpenMove): Promise<number | undefined> {
  const { shardGate, journal, log } = parts
  const { item, no, epoch, wanted } = move
  if (!move.current) {
    await journal.end(item, no, 'void')
    log.info(
      { event: 'move_void', item, no, epoch, wanted, taken: move.taken },
      'move between shards void: its epoch is over',
    )
    return undefined
  }
  let { taken } = move
  if (taken === undefined) {
    const reply = await shardGate.move(`${item}#${move.from}`, epoch, no, -wanted)
    await faultPoint('move.taken')
    if (reply.status !== 'done') return undefined
    taken = Math.abs(reply.taken)
    assert(reply.taken <= 0 && taken <= wanted, `item ${item}, move ${no}: ${wanted} wanted, ${reply.taken} taken`)
    if (!(await journal.taken(item, no, taken))) return undefined
    await faultPoint('move.journalled')
  }
  if (taken > 0) {
    const reply = await shardGate.move(`${item}#${move.to}`, epoch, no, taken)
    await faultPoint('move.given')
    if (reply.status !== 'done') return undefined
    assert(reply.taken === taken, `item ${item}, move ${no}: ${taken} taken, ${reply.taken} given`)
  }
  await journal.end(item, no, 'done')
  await faultPoint('move.done')
  log.debug(
    { event: 'units_moved', item, no, from: move.from, to: move.to, wanted, taken },
    'units moved between shards',
  )
  return taken
}
