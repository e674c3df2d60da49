/** A while after a signal: who was told to stop may finish what is in hand, for so long and no longer. */

import type { Clock } from '../../base/clock.ts'

/** Aborts `ms` after `stop` has, or after now if that was earlier; never if `stop` never does. */
export function graceAfter(stop: AbortSignal, ms: number, clock: Clock): AbortSignal {
  const over = new AbortController()
  const begin = () => void clock.sleep(ms).then(() => over.abort())
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin, { once: true })
  return over.signal
}
