/**
 * A round of work, repeated until `signal` aborts: every `everyMs`, and at once when `round` or `kick` is called.
 * One round at a time. A round that fails with a fault is followed by the next; a bug ends the loop, and the process with it. A loop that only
 * watches goes on after a bug too: a process that can't watch still sells. However often rounds fail, the log has few lines (`outage-log.ts`).
 */

import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'
import type { Log } from './log.ts'
import { OutageLog } from './outage-log.ts'

export type Loop = ReturnType<typeof startLoop>

interface LoopOptions {
  readonly name: string
  readonly everyMs: number
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly run: () => Promise<void>
  /** It only watches: called with a bug, and the next round follows. Absent: a bug ends the loop. */
  readonly onBug?: (bug: unknown) => void
}

const TEXTS = {
  event: 'round_failed',
  begins: 'a round failed; the next one follows',
  lasts: 'rounds still fail',
  ends: 'rounds succeed again',
} as const

export function startLoop({ name, everyMs, clock, log, signal, run, onBug }: LoopOptions) {
  const outage = new OutageLog({ clock, log }, { loop: name }, TEXTS)
  let wake = new AbortController()
  let kicked = false
  let waiting: PromiseWithResolvers<void> | undefined
  let ended = false
  const stopping = () => new Fault('stopping', 'the process is stopping', { retryable: true })

  async function go(): Promise<void> {
    while (!signal.aborted) {
      const asked = waiting
      waiting = undefined
      kicked = false
      wake = new AbortController()
      try {
        await run()
        asked?.resolve()
        outage.worked()
      } catch (error) {
        asked?.reject(error)
        if (!(error instanceof Fault)) {
          if (onBug === undefined) throw error
          onBug(error)
        }
        outage.failed(error)
      }
      if (waiting === undefined && !kicked) await clock.sleep(everyMs, wake.signal)
    }
    ended = true
    waiting?.reject(stopping())
  }

  /** A round soon, without waiting for it. */
  const kick = () => {
    kicked = true
    wake.abort()
  }
  signal.addEventListener('abort', kick, { once: true })
  return {
    /** Resolves after a whole round that began after this call; rejects with what made that round fail. */
    round(): Promise<void> {
      if (ended) return Promise.reject(stopping())
      waiting ??= Promise.withResolvers()
      kick()
      return waiting.promise
    },
    kick,
    /** Resolves when the signal has stopped it; rejects on a bug that ends it. */
    stopped: go(),
  }
}
