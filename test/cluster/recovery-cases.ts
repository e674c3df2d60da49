/** How long buyers hear "busy" when Redis was away for so long, in a cluster that is asked twenty times a second. */

import { createTicketOffice, parseTicketKeys } from '../../src/admission/ticket.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { gatherFacts } from '../harness/facts.ts'
import type { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const ASK_EVERY_MS = 50
const UNITS = 10_000
const HOUR_MS = 3_600_000
/** So many answers in a row, behind the gate's door: nothing is left of the outage. */
const WELL_AFTER = 10
const SOON_MS = 120_000

/** Sum of the stretches without an order, from the kill until the gate sells again. */
export async function busyMs(playground: Playground, awayMs: number, fenceMs: number): Promise<number> {
  const beganMs = systemClock.elapsed()
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1, fenceMs })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: UNITS }])
  const item = sale.items[0]?.id ?? ''
  const office = createTicketOffice(parseTicketKeys(cluster.envOf('edge').TICKET_KEYS ?? ''))
  const door = async () => (await shop.audit(sale.id))[0]?.door
  let buyers = 0

  /** Did one more buyer get an order? */
  async function sells(): Promise<boolean> {
    buyers += 1
    const buyer = `buyer-${buyers}`
    const nowMs = systemClock.now()
    const terms = { attempt: 1, notBeforeMs: nowMs - 1_000, expiresAtMs: nowMs + HOUR_MS }
    const text = office.issue({ sale: sale.id, item, buyer, ...terms })
    return 'order' in (await shop.order({ buyer, sale: sale.id, item, attempt: 1, text }, 1)).answer
  }

  await until('the first order', sells, SOON_MS)
  await cluster.redis.kill()
  const killedMs = systemClock.elapsed()
  const back = systemClock.sleep(awayMs).then(() => cluster.redis.start())
  let [busy, lastMs, inARow] = [0, killedMs, 0]
  await until(
    'the gate to sell again',
    async () => {
      const sold = await sells()
      const nowMs = systemClock.elapsed()
      if (!sold) busy += nowMs - lastMs
      lastMs = nowMs
      inARow = sold && nowMs > killedMs + awayMs ? inARow + 1 : 0
      if (inARow >= WELL_AFTER && (await door()) === 'gate') return true
      await systemClock.sleep(ASK_EVERY_MS)
      return false
    },
    SOON_MS,
  )
  await back
  assertPromises(await gatherFacts(shop, sale, cluster.edges()[0]!.server()), beganMs)
  return busy
}
