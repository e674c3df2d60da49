/**
 * The cost of a request when 1,000, 10,000, 100,000 or a million buyers hold an order of the item: refusals by the gate, placed orders, and
 * the memory of each reservation. CPU time per request, each beside that of a constant measured in the same rounds.
 */

import type { Survey, SurveyFigure } from '../bench-case.ts'
import { Acknowledged, askersOf, buyersOf, freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { startConstant } from '../servers/child.ts'
import { costs, residentBytes } from './cost.ts'
import { toTheFirst } from './growth-over-items.ts'

const LEVELS = [1_000, 10_000, 100_000, 1_000_000]
const UNITS = 4_000_000
const ASKERS = 60_000
const TICKETS_PER_SECOND = 15_000
/** As a share of the level, per round. */
const PLACED_SHARE = 2.5
/** Tickets are made in chunks: a million requests need not be in memory at once. */
const CHUNK = 50_000
const FILL_MS_MAX = 60_000
const REFUSED = 409

export const growthOverBuyers: Survey = {
  name: 'growth over buyers',
  async run(stage, print) {
    const { stampede, clock, connections } = stage
    const on = await stampede.openSale({ units: UNITS, attemptsMax: 1 })
    const unexpected = new Set<string>()
    const acknowledged = new Acknowledged()
    const constant = await startConstant({ status: REFUSED, headers: {}, body: '{"code":"attempts_used"}' })
    const figures: SurveyFigure[] = []
    const sizes: { buyers: number; bytes: number }[] = []
    try {
      const asking = (name: string, server: { pid: number; target: typeof stampede.target }, count: number) => {
        const requests = freshOrders(stage, server.target, [on], count, 2)
        return askersOf({ name, server, clock, connections, requests, status: REFUSED, unexpected })
      }
      const refused = asking('refused', stampede, ASKERS)
      const still = asking('constant', constant, 1_000)
      // The rounds place orders themselves, few enough to stay well below the next level.
      const placing = (level: number) =>
        buyersOf({
          ...stage,
          name: 'placed',
          serverPid: stampede.pid,
          target: stampede.target,
          items: [on],
          ticketsPerSecond: Math.min(TICKETS_PER_SECOND, (PLACED_SHARE * level * 1000) / stage.roundMs),
          acknowledged,
        })
      for (const level of stage.blink ? [100, 1_000] : LEVELS) {
        while (acknowledged.placed < level) {
          const requests = freshOrders(stage, stampede.target, [on], Math.min(CHUNK, level - acknowledged.placed))
          let i = 0
          const next = () => requests[i++]
          const { target } = stampede
          acknowledged.add('filling', await runClosedLoop({ target, connections, forMs: FILL_MS_MAX, clock, next }))
          if (acknowledged.unexpected.size > 0) break
        }
        sizes.push({ buyers: acknowledged.placed, bytes: residentBytes(stampede.pid) })
        figures.push(
          ...(await costs(
            stage,
            { refused, placed: placing(level), constant: still },
            `${level.toLocaleString('en-GB')} buyers`,
          )),
        )
        print(`${this.name}: ${level} buyers measured, ${acknowledged.placed} by now`)
      }
      const audit = await stampede.audit(on)
      if (!audit.consistent || audit.pending !== acknowledged.placed)
        unexpected.add(`told ${acknowledged.placed} buyers "placed", ${JSON.stringify(audit)}`)
    } finally {
      await constant.stop()
    }
    const [few, many] = [sizes.at(-2)!, sizes.at(-1)!]
    const perReservation = {
      group: 'memory per reservation',
      at: `${few.buyers.toLocaleString('en-GB')} to ${many.buyers.toLocaleString('en-GB')} buyers`,
      value: (many.bytes - few.bytes) / Math.max(1, many.buyers - few.buyers),
      unit: 'bytes',
    }
    return {
      name: this.name,
      what: 'CPU time per request with 1,000 to 1,000,000 holders of one item, and over the constant of the same moment',
      figures: [...toTheFirst(figures), perReservation],
      violations: [...unexpected, ...acknowledged.unexpected],
    }
  },
}
