/** Ends the rehearsal's sale on a server that keeps running. A sale left open is open to real buyers, so the call is repeated for a while. */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { Operator, type Server } from './operator.ts'

const RETRY_MS = 15_000
const RETRY_STOPPED_MS = 8_000
const ANSWER_MS_MAX = 5_000
const DRAFT_AGAIN_MS = 2_000
/** The sale is a draft, or does not exist: buyers don't see it. */
const NOT_OPEN: ReadonlySet<string> = new Set(['not_changeable', 'not_found'])

/**
 * Undefined when the sale is over; otherwise a message with the command that ends it. `retryMs`: how long to retry, where a recovery may
 * take longer than the default. After `stop` the call is repeated for a shorter time.
 */
export async function endSale(
  server: Server,
  clock: Clock,
  sale: string,
  retryMs: number,
  stop: AbortSignal,
): Promise<string | undefined> {
  const operator = new Operator(server, clock, {
    retryMs: Math.max(RETRY_MS, retryMs),
    answerMsMax: ANSWER_MS_MAX,
    stop: graceAfter(stop, RETRY_STOPPED_MS, clock),
  })
  for (let draft = false; ; draft = true) {
    try {
      await operator.end(sale)
      return undefined
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (!NOT_OPEN.has(error.code)) return stillOpen(server, sale)
      if (draft) return undefined
    }
    // A publish call that was given up may still take effect on the server.
    await clock.sleep(DRAFT_AGAIN_MS)
  }
}

export function stillOpen({ url }: Server, sale: string): string {
  return `the rehearsal’s sale ${sale} is still open: stampede sale end ${sale} --server ${url}`
}

/** Aborts `ms` after `stop` does (after now, if it has already), so that work in hand may be finished. */
export function graceAfter(stop: AbortSignal, ms: number, clock: Clock): AbortSignal {
  const over = new AbortController()
  const begin = () => void clock.sleep(ms).then(() => over.abort())
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin, { once: true })
  return over.signal
}
