/**
 * The end of a rehearsal's sale on a server that goes on running: asked for again and again for a while, because a sale that is left
 * open is open to everybody. What can't be ended is said, with the command that does it.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { graceAfter } from './grace.ts'
import { createStage, type Place } from './stage.ts'

interface Ending {
  readonly place: Place
  readonly clock: Clock
  readonly sale: string
  /** How long the server is asked again at most, where a recovery may take longer. */
  readonly patienceMs: number
  /** Whoever is stopped tries for a while only. */
  readonly stop: AbortSignal
}

const TRY_MS_MAX = 15_000
const TRY_STOPPED_MS_MAX = 8_000
const ANSWER_MS_MAX = 5_000
const DRAFT_AGAIN_MS = 2_000
/** It is a draft, or not there: nobody sees it. */
const NOT_OPEN: ReadonlySet<string> = new Set(['not_changeable', 'not_found'])

/** Undefined when it is over; otherwise the line that says that it is not. */
export async function endSale({ place, clock, sale, patienceMs, stop }: Ending): Promise<string | undefined> {
  const stage = createStage(place, clock, {
    patienceMs: Math.max(TRY_MS_MAX, patienceMs),
    answerMsMax: ANSWER_MS_MAX,
    stop: graceAfter(stop, TRY_STOPPED_MS_MAX, clock),
  })
  for (let draft = false; ; draft = true) {
    try {
      await stage.end(sale)
      return undefined
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (!NOT_OPEN.has(error.code)) return stillOpen(place, sale)
      if (draft) return undefined
    }
    // A publishing that was given up may still be under way there.
    await clock.sleep(DRAFT_AGAIN_MS)
  }
}

export function stillOpen({ url }: Place, sale: string): string {
  return `the rehearsal’s sale ${sale} is still open: stampede sale end ${sale} --server ${url}`
}
