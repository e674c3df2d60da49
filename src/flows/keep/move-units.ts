/**
 * Units of an item move between its places at the gate, from where nobody asks for them to where somebody does. By the acting keeper, item
 * by item, one move after the other. Steps, each a place where the process may die:
 *
 *   1 ask      a row in the ledger says from where, to where and how many; only while the gate of this epoch sells the item
 *   2 take     the first place gives up what it has of them, under the row's number
 *   3 journal  how many that were is written into the row
 *   4 give     the second place gets exactly those, under the same number
 *   5 done     the row says so
 *
 * Dying after any of them leaves the row, and the units in one place, in the other, or stranded between the two; the next round, or the next
 * keeper, goes on with the same number. A place takes part in a number once and repeats its answer, so no unit is there twice. Two
 * keepers that believe they act do the same steps of the same move. When the epoch is over the move is void: the next gate is built from
 * what is available in the ledger, which never knew where the units lie.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { ItemId } from '../../domain/ids.ts'
import { SHARDS_MAX } from '../../domain/item.ts'
import { planMove, type ShardStock } from '../../domain/plan-move.ts'
import type { Gate, GateStatus, ShardStatus } from '../../gate/gate.ts'
import type { Mover } from '../../gate/mover.ts'
import { placesOf, type ShardId } from '../../gate/shard-ids.ts'
import type { Moves, OpenMove } from '../../ledger/moves.ts'
import type { Registry } from '../sell/live-item.ts'

export interface MoveUnitsParts {
  readonly gate: Pick<Gate, 'status'> & Mover
  readonly moves: Moves
  readonly registry: Registry
  readonly log: Log
  readonly maySell: () => boolean
}

/** Who was refused longer ago has not asked again: a buyer who still wants it does so within a second. */
const WAITS_MS = 2_000

/** Finishes what was begun, then moves what is wanted elsewhere. One item whose gate is away does not hold up the others. */
export async function moveUnits(parts: MoveUnitsParts): Promise<void> {
  let away: Fault | undefined
  const unlessAway = async (work: () => Promise<unknown>) => {
    if (!parts.maySell()) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      away = error
    }
  }
  for (const move of await parts.moves.open()) await unlessAway(() => finish(parts, move))
  const items = sharded(parts.registry)
  if (items.length > 0)
    await unlessAway(async () => {
      for (const look of (await parts.gate.status(items)).items) await unlessAway(() => serve(parts, look))
    })
  if (away !== undefined) throw away
}

function sharded(registry: Registry): readonly ItemId[] {
  const found: ItemId[] = []
  for (const { item, door, current } of registry.values())
    if (door === 'gate' && current && item.gateShards > 1) found.push(item.id)
  return found
}

/** Until nobody waits who could be served, as far as the look shows; at most a move for each place. */
async function serve(parts: MoveUnitsParts, { item, epoch, places }: GateStatus): Promise<void> {
  if (places === undefined) return
  const stocks = places.map(stockOf)
  for (let i = 0; i < places.length && parts.maySell(); i++) {
    const plan = planMove(stocks)
    if (plan === undefined) return
    const { from, to, units } = plan
    const no = await parts.moves.ask(item, epoch, { from, to, wanted: units })
    if (no === undefined) return
    await faultPoint('move.asked')
    const moved = await finish(parts, { item, no, epoch, from, to, wanted: units, taken: undefined, current: true })
    if (moved === undefined) return
    // Fewer than wanted: the rest was sold meanwhile.
    stocks[from] = { ...stocks[from]!, left: moved < units ? 0 : stocks[from]!.left - moved }
    stocks[to] = { ...stocks[to]!, left: stocks[to]!.left + moved }
  }
}

function stockOf({ left, wants, waitedMs }: ShardStatus): ShardStock {
  return { left, wants: waitedMs !== undefined && waitedMs < WAITS_MS ? wants : 0 }
}

/** How many units have arrived. Undefined: not finished, or not by us; the next round looks again. */
async function finish(parts: MoveUnitsParts, move: OpenMove): Promise<number | undefined> {
  const { gate, moves, log } = parts
  const { item, no, epoch, wanted } = move
  if (!move.current) {
    await moves.end(item, no, 'void')
    log.info({ item, no, epoch, wanted, taken: move.taken }, 'a move between places is void: its epoch is over')
    return undefined
  }
  let { taken } = move
  if (taken === undefined) {
    const left = await gate.move(placeAt(item, move.from), epoch, no, -wanted)
    await faultPoint('move.taken')
    if (left.status !== 'done') return undefined
    taken = Math.abs(left.taken)
    assert(left.taken <= 0 && taken <= wanted, `item ${item}, move ${no}: ${wanted} wanted, ${left.taken} taken`)
    if (!(await moves.taken(item, no, taken))) return undefined
    await faultPoint('move.journalled')
  }
  if (taken > 0) {
    const given = await gate.move(placeAt(item, move.to), epoch, no, taken)
    await faultPoint('move.given')
    if (given.status !== 'done') return undefined
    assert(given.taken === taken, `item ${item}, move ${no}: ${taken} taken, ${given.taken} given`)
  }
  await moves.end(item, no, 'done')
  await faultPoint('move.done')
  log.debug({ item, no, from: move.from, to: move.to, wanted, taken }, 'units moved between places')
  return taken
}

/** A shard's place has the same name, however many there are. */
function placeAt(item: ItemId, shard: number): ShardId {
  return placesOf(item, SHARDS_MAX)[shard]!
}
