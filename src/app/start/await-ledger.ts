/**
 * A process that is started while PostgreSQL is away waits for it and does not end at once: whatever starts it again would do so many times, and
 * say nothing useful. After `WAIT_MS_MAX` it ends with one line that says why. An address that PostgreSQL answers and refuses is never waited
 * for: only an operator can correct it.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'

export const WAIT_MS_MAX = 60_000
const TRY_EVERY_MS = 500

interface AwaitLedgerOptions {
  readonly clock: Clock
  /** Ends the wait. */
  readonly stopping: AbortSignal
  /** Called once, when it begins to wait. */
  readonly onWaiting: (why: string) => void
}

/** What `call` gives as soon as the ledger answers. Undefined: told to stop first. */
export async function awaitLedger<T>(
  call: () => Promise<T>,
  { clock, stopping, onWaiting }: AwaitLedgerOptions,
): Promise<T | undefined> {
  const untilMs = clock.elapsed() + WAIT_MS_MAX
  let waiting = false
  while (!stopping.aborted) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'ledger_away') throw error
      if (clock.elapsed() >= untilMs) throw tooLong(error)
      if (!waiting) onWaiting(error.message)
      waiting = true
    }
    await clock.sleep(TRY_EVERY_MS, stopping)
  }
  return undefined
}

function tooLong(cause: Fault): Fault {
  return new Fault(
    'ledger_away',
    `PostgreSQL has not answered for ${WAIT_MS_MAX / 1_000} s, and nothing can be sold without it (${cause.message}): start it, or correct DATABASE_URL, and start this process again`,
    { cause },
  )
}
