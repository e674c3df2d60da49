/**
 * The draws of the lines that this process knows. Each follows its row in the ledger until it is drawn; then this process computes the positions for itself,
 * in small steps, and holds its own chain over the joins against the sealed root: a difference is a bug or a changed ledger, and the line goes no further.
 */

import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import { inSlices } from '../../base/slices.ts'
import { DRAND_SOURCE, roundAfterSeal } from '../../domain/draw/drand-rounds.ts'
import { HASH_BYTES, toHex } from '../../domain/draw/draw-bytes.ts'
import { commitmentOf, drawKey } from '../../domain/draw/draw-key.ts'
import { drawOrder, positionsByNumber } from '../../domain/draw/drawn-order.ts'
import { chainStart, DRAW_ALGORITHM } from '../../domain/draw/join-chain.ts'
import type { SaleId } from '../../domain/ids.ts'
import { type LineTerms, sealsAtMs } from '../../domain/line.ts'
import type { Sale } from '../../domain/sale.ts'
import type { LineDraw, LineDraws } from '../../ledger/line-draws.ts'
import type { LineBook } from './line-book.ts'

type SaleWithLine = Sale & { readonly line: LineTerms }

/** A line as this process has it. */
interface DrawnLine {
  readonly sale: Pick<Sale, 'id'>
  readonly book: LineBook
  draw: LineDraw | undefined
}

interface DrawContext {
  readonly draws: Pick<LineDraws, 'open' | 'find'>
  readonly random: Random
}

/** Opens the draw of a line, unless it is open: its seed is in the ledger before anyone hears of the commitment. */
export function openDraw({ draws, random }: DrawContext, sale: SaleWithLine): Promise<LineDraw> {
  const sealed = sealsAtMs(sale, sale.line)
  const { beacon } = sale.line
  const promise =
    beacon?.source === DRAND_SOURCE ? { ...beacon, round: beacon.round ?? roundAfterSeal(sealed) } : beacon
  return draws.open({
    sale: sale.id,
    algorithm: DRAW_ALGORITHM,
    seed: random.bytes(HASH_BYTES),
    sealsAtMs: sealed,
    promise,
  })
}

/** The head before the first join. A line without a draw has nothing to bind. */
export function startOf(sale: SaleWithLine, draw: LineDraw | undefined): Uint8Array {
  return chainStart({ sale: sale.id, commitment: draw?.commitment ?? new Uint8Array(0), beacon: draw?.promise })
}

/** Reads how far the draws of these lines are. */
export async function followDraws({ draws }: Pick<DrawContext, 'draws'>, lines: Iterable<DrawnLine>): Promise<void> {
  const waiting = new Map(
    [...lines].filter(({ draw }) => draw !== undefined && draw.drawn === undefined).map(line => [line.sale.id, line]),
  )
  if (waiting.size === 0) return
  for (const draw of await draws.find([...waiting.keys()])) waiting.get(draw.sale)!.draw = draw
}

export interface MissingBeacon {
  readonly sale: SaleId
  readonly source: string
  /** False: an operator must enter it. */
  readonly isFetched: boolean
}

/** Lines that are sealed and wait for the value that their draw has named. */
export function beaconsMissing(lines: Iterable<DrawnLine>): readonly MissingBeacon[] {
  return [...lines].flatMap(({ draw }) => {
    if (draw?.sealed === undefined || draw.promise === undefined || draw.beacon !== undefined) return []
    const { source } = draw.promise
    return [{ sale: draw.sale, source, isFetched: source === DRAND_SOURCE }]
  })
}

/** The numbers in the order of their positions. */
export function orderOf({ sale, sealed, beacon, drawn, commitment }: LineDraw): Promise<Uint32Array> {
  assert(sealed !== undefined && drawn !== undefined, `the draw of sale ${sale} is not made`)
  assert(toHex(commitmentOf(drawn.seed)) === toHex(commitment), `the seed of sale ${sale} is not what was promised`)
  return inSlices(drawOrder(drawKey(sale, drawn.seed, sealed.root, beacon), sealed.joins))
}

/** Gives every sealed join its position, once its draw is made and its joins are read. */
export async function applyDraw({ draw, book }: DrawnLine): Promise<void> {
  if (draw?.drawn === undefined || book.isDrawn || !isChainRight(draw, book)) return
  book.draw(positionsByNumber(await orderOf(draw)))
}

/** Does this process's own chain lead to the sealed root? False also where it has not read that far. */
export function isChainRight({ sale, sealed, commitment, promise }: LineDraw, book: LineBook): boolean {
  if (sealed === undefined || sealed.joins > book.numbers) return false
  const head = sealed.joins === 0 ? chainStart({ sale, commitment, beacon: promise }) : book.headOf(sealed.joins)
  assert(
    head !== undefined && toHex(head) === toHex(sealed.root),
    `the joins of sale ${sale} do not lead to their sealed root`,
  )
  return true
}
