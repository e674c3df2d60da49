/**
 * The cost of a request when 1, 10 or 100 items are sold at once: the same load, spread over more items. Refusals by the gate, and placed
 * orders, whose batches are then smaller. CPU time per request, each beside that of a constant measured in the same rounds.
 */

import type { Contestant, Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { Acknowledged, askersOf, buyersOf, freshOrders } from '../client/buyers.ts'
import { startConstant } from '../servers/child.ts'
import { costs } from './cost.ts'

const ITEMS = [1, 10, 100]
const UNITS = 1_000_000
const BUYERS = 60_000
const TICKETS_PER_SECOND = 40_000
const REFUSED = 409

export const growthOverItems: Survey = {
  name: 'growth over items',
  async run(stage, print) {
    const { stampede, clock, connections } = stage
    const unexpected = new Set<string>()
    const acknowledged = new Acknowledged()
    const constant = await startConstant({ status: REFUSED, headers: {}, body: '{"code":"attempts_used"}' })
    const figures: SurveyFigure[] = []
    try {
      const asking = (name: string, server: { pid: number; target: Stage['stampede']['target'] }, requests: Buffer[]) =>
        askersOf({ name, server, clock, connections, requests, status: REFUSED, unexpected })
      for (const count of stage.blink ? [1, 2] : ITEMS) {
        const items = await stampede.openSaleOf(count, { units: UNITS, attemptsMax: 1 })
        const contestants: Record<string, Contestant> = {
          refused: asking('refused', stampede, freshOrders(stage, stampede.target, items, BUYERS, 2)),
          placed: buyersOf({
            ...stage,
            name: 'placed',
            serverPid: stampede.pid,
            target: stampede.target,
            items,
            ticketsPerSecond: TICKETS_PER_SECOND,
            acknowledged,
          }),
          constant: asking('constant', constant, freshOrders(stage, constant.target, items, 1_000, 2)),
        }
        figures.push(...(await costs(stage, contestants, `${count} items`)))
        print(`${this.name}: ${count} items measured`)
      }
    } finally {
      await constant.stop()
    }
    return {
      name: this.name,
      what: 'CPU time per request with 1, 10 and 100 hot items, and over the constant of the same moment',
      figures: toTheFirst(figures),
      violations: [...unexpected, ...acknowledged.unexpected],
    }
  },
}

/** Figures in groups, each with its ratio to the first of its group. */
export function toTheFirst(figures: readonly SurveyFigure[]): SurveyFigure[] {
  const groups = Map.groupBy(figures, figure => figure.group)
  return [...groups.values()].flatMap(group =>
    group.map(figure => ({ ...figure, ratio: figure.value / group[0]!.value })),
  )
}
