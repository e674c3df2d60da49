/**
 * When a process that was started here is over and has said all it had to say: at its `close`; or a moment after its `exit`, because
 * Bun 1.4.4 now and then, under load, never notices that a pipe of a killed process has ended, and then `close` does not come.
 */

import type { ChildProcess } from 'node:child_process'
import { systemClock } from './clock.ts'

interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** For the last words of a process whose end is known; they are in the pipe already, and only have to be read. */
const LAST_WORDS_MS = 250

/** Stays open where the process could not be started: that is an `error`, and whoever starts it listens for it. */
export function childEnd(child: ChildProcess): Promise<ChildEnd> {
  return new Promise(resolve => {
    const closed = new AbortController()
    child.once('close', (code, signal) => {
      closed.abort()
      resolve({ code, signal })
    })
    child.once('exit', (code, signal) => {
      // Twice: whoever stood still for that long finds the time over before anything is read.
      const pause = () => systemClock.sleep(LAST_WORDS_MS, closed.signal)
      void pause()
        .then(pause)
        .then(() => resolve({ code, signal }))
    })
  })
}
