/** The waiting line, for the operations page. */

import { toRfc3339 } from '../../base/clock.ts'
import { DRAND_SOURCE } from '../../domain/draw/drand-rounds.ts'
import { toHex } from '../../domain/draw/draw-bytes.ts'
import { lineState } from '../../domain/line.ts'
import { leftIn } from '../../flows/line/join-state.ts'
import type { LineDraw } from '../../ledger/line-draws.ts'
import { type LineWatchAnswer, lineWatchCalls } from '../../wire/line/line-watch.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { idParam, json } from '../http/exchange.ts'
import { noSuch } from '../http/problem-response.ts'

type DrawWatch = NonNullable<LineWatchAnswer['draw']>

const handlers = {
  watchLine({ line: { followedLines, registry, nowMs }, lineFigures }, exchange) {
    const line = followedLines.known(idParam(exchange, 'sale'))
    if (line === undefined) throw noSuch('sale with a waiting line')
    const { sale, book, draw } = line
    const { curve, ...figures } = lineFigures.of(line)
    return json({
      at: toRfc3339(Math.floor(nowMs())),
      order: sale.line.order,
      state: lineState(sale, sale.line, nowMs(), book.isDrawn),
      ...figures,
      left: leftIn(registry, sale) ?? null,
      rate: book.rate ?? sale.line.rate,
      paused: book.paused,
      claimWithinSeconds: sale.line.claimWithinMs / 1000,
      curve: curve.map(({ atMs, ...point }) => ({ at: toRfc3339(atMs), ...point })),
      ...(draw !== undefined && { draw: wireDraw(draw) }),
    } satisfies LineWatchAnswer)
  },
} satisfies Handlers<typeof lineWatchCalls>

export const lineWatchRoutes = (edge: EdgeContext) => routesOf(edge, lineWatchCalls, handlers)

function wireDraw({ sealsAtMs, commitment, sealed, promise, beacon, drawn }: LineDraw): DrawWatch {
  const shown = beacon ?? promise
  return {
    sealsAt: toRfc3339(sealsAtMs),
    commitment: toHex(commitment),
    ...(sealed !== undefined && { sealedJoins: sealed.joins, root: toHex(sealed.root) }),
    ...(shown !== undefined && { beacon: shown }),
    beaconState: beaconStateOf({ sealed, promise, beacon }),
    ...(drawn !== undefined && { drawnAt: toRfc3339(drawn.atMs) }),
  }
}

function beaconStateOf({
  sealed,
  promise,
  beacon,
}: Pick<LineDraw, 'sealed' | 'promise' | 'beacon'>): DrawWatch['beaconState'] {
  if (promise === undefined) return 'none'
  if (beacon !== undefined) return 'known'
  if (sealed === undefined) return 'not_yet'
  return promise.source === DRAND_SOURCE ? 'fetched_soon' : 'to_enter'
}
