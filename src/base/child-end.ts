/**
 * The end of a child process, with all of its output read: at its `close`; or a moment after its `exit`, because Bun 1.4.4 now and then,
 * under load, never notices that a pipe of a killed process has ended, and then `close` does not come.
 */

import type { ChildProcess } from 'node:child_process'
import { systemClock } from './clock.ts'

/** After the exit the last output is in the pipe already, and only has to be read. */
const LAST_OUTPUT_MS = 250

/** Never resolves if the process could not be started: that is an `error` event. */
export function childEnd(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise(resolve => {
    const closed = new AbortController()
    child.once('close', (code, signal) => {
      closed.abort()
      resolve({ code, signal })
    })
    child.once('exit', (code, signal) => {
      // Twice: if this process stood still meanwhile, the first pause is over before anything is read.
      const pause = () => systemClock.sleep(LAST_OUTPUT_MS, closed.signal)
      void pause()
        .then(pause)
        .then(() => resolve({ code, signal }))
    })
  })
}
