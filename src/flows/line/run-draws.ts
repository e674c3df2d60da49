/**
 * Runs the draws of all lines, in the process that leads: opens them when their line opens, seals the joins, fetches the beacon, draws. Every step is a
 * compare-and-set in the ledger, and each round begins with what the ledger says. So a process may die anywhere, or two may act at once: a draw goes on where
 * it is and is made once. Without its beacon a line waits; that is trouble on the operations page.
 */

import { onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Beacons } from '../../beacon/beacon.ts'
import { DRAND_SOURCE, roundAtMs } from '../../domain/draw/drand-rounds.ts'
import { toHex } from '../../domain/draw/draw-bytes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { LineDraw, LineDraws } from '../../ledger/line-draws.ts'
import { eachLine } from './each-line.ts'
import { isChainRight } from './follow-draws.ts'
import type { FollowedLine, FollowedLines, SaleWithLine } from './followed-lines.ts'

interface RunDrawsContext {
  readonly followedLines: Pick<FollowedLines, 'of' | 'round'>
  readonly draws: Pick<LineDraws, 'seal' | 'setBeacon' | 'draw'>
  readonly beacons: Beacons
  readonly catalog: { list(): Promise<readonly Sale[]> }
  readonly log: Log
  /** By the gate's clock. */
  readonly nowMs: () => number
}

/** As an operator's name in the log: the value came from the source itself. */
const BY_SOURCE = DRAND_SOURCE

export class DrawRunner {
  readonly #context: RunDrawsContext

  constructor(context: RunDrawsContext) {
    this.#context = context
  }

  async round(): Promise<void> {
    const { catalog, followedLines, nowMs } = this.#context
    const sales = (await catalog.list()).filter(sale => isDrawing(sale, nowMs()))
    const lines: FollowedLine[] = []
    await eachLine([
      ...sales.map(sale => async () => lines.push(await followedLines.of(sale))),
      async () => {
        if (lines.some(({ draw }) => draw?.drawn === undefined)) await followedLines.round()
      },
      async () => eachLine(lines.map(line => async () => (await this.#step(line)) && followedLines.round())),
    ])
  }

  /** True: the ledger was changed. One step at a time; the next is taken when the ledger shows this one. */
  async #step({ draw, book }: FollowedLine): Promise<boolean> {
    if (draw === undefined || draw.drawn !== undefined || this.#context.nowMs() < draw.sealsAtMs) return false
    const { draws, log } = this.#context
    const { sale, sealed, promise, beacon } = draw
    if (sealed === undefined) {
      await faultPoint('draw.seal')
      const isSealed = await draws.seal(sale)
      await faultPoint('draw.sealed')
      return isSealed
    }
    if (promise !== undefined && beacon === undefined) return this.#fetchBeacon(draw)
    if (!isChainRight(draw, book)) return false
    await faultPoint('draw.before')
    const isDrawn = await draws.draw(sale)
    await faultPoint('draw.after')
    if (isDrawn) log.info({ event: 'line_drawn', sale, joins: sealed.joins, root: toHex(sealed.root) }, 'line drawn')
    return isDrawn
  }

  /** A fault is no matter: the next round tries again, and meanwhile the line waits. */
  async #fetchBeacon({ sale, promise }: LineDraw): Promise<boolean> {
    const { beacons, draws, nowMs, log } = this.#context
    if (promise?.source !== DRAND_SOURCE || promise.round === undefined || nowMs() < roundAtMs(promise.round))
      return false
    const found = await onFault(
      () => beacons.fetch(promise.round!),
      fault =>
        void log.warn(
          { event: 'beacon_not_fetched', sale, round: promise.round, why: fault.message },
          'beacon not fetched; the line waits',
        ),
    )
    if (found === undefined) return false
    await faultPoint('draw.beacon')
    return draws.setBeacon(sale, { ...promise, ...found }, BY_SOURCE)
  }
}

function isDrawing(sale: Sale, nowMs: number): sale is SaleWithLine {
  const { line, state, closesAtMs } = sale
  return line?.order === 'draw' && state !== 'over' && nowMs >= line.opensAtMs && nowMs < closesAtMs
}
