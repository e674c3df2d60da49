/** Many at once, but not without bound: the load generator shares the machine with what it loads. */

import { systemClock } from '../../src/base/clock.ts'
import type { Told } from '../../src/domain/promises/snapshot.ts'
import type { Shop, Ticket } from './shop.ts'

/** Runs `act` for each, at most `width` at a time, in order. The first failure ends it. */
export async function atMost<T, R>(
  width: number,
  each: readonly T[],
  act: (one: T, i: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(each.length)
  let next = 0
  const worker = async () => {
    while (next < each.length) {
      const i = next++
      results[i] = await act(each[i] as T, i)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, each.length) }, worker))
  return results
}

/** A crowd that works while the test does something else. Should the test fail first, nobody hears what became of it. */
export function meanwhile<T>(crowd: Promise<T>): Promise<T> {
  crowd.catch(() => {})
  return crowd
}

/** The longer there is no word that counts, the rarer a buyer asks: an outage is no reason to keep two cores busy. */
const ASK_AGAIN_MS = 50
const ASK_AGAIN_MS_MAX = 400
const PATIENCE_MS = 150_000

/** A buyer who asks with the same ticket until there is a word that counts: an order, or a "no" that asking again would not change. */
export async function persist(
  shop: Shop,
  ticket: Ticket,
  quantity: number,
  whileAway: () => Promise<unknown>,
): Promise<Told> {
  const untilMs = systemClock.elapsed() + PATIENCE_MS
  for (let waitMs = ASK_AGAIN_MS; ; waitMs = Math.min(ASK_AGAIN_MS_MAX, waitMs * 1.5)) {
    const told = await shop.order(ticket, quantity)
    const { kind } = told.answer
    if (kind === 'unknown') await whileAway()
    else if (kind !== 'busy' && kind !== 'early') return told
    if (systemClock.elapsed() > untilMs) throw new Error(`${ticket.buyer} has asked for ${PATIENCE_MS} ms in vain`)
    await systemClock.sleep(waitMs)
  }
}
