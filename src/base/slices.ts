/** Long work in the process, in small steps: the event loop has a turn after each, so that other requests are answered meanwhile. */

import { nextTurn } from './clock.ts'

/** Runs a generator to its end. */
export async function inSlices<S, R>(steps: Iterator<S, R>, onStep?: (step: S) => void): Promise<R> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    onStep?.(step.value)
    await new Promise<void>(resolve => nextTurn(resolve))
  }
}
