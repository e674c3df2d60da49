/**
 * Steps of a round over many lines, one after the other. What is wrong with one line (a bug, damaged rows, no room for one more) does not hold up the others: it is
 * thrown when all had their turn. Any other fault ends the round at once: the ledger does not answer, for all lines alike.
 */

import { Fault } from '../../base/fault.ts'

export const TOO_MANY_LINES = 'too_many_lines'

export async function eachLine(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      if (error instanceof Fault && error.code !== TOO_MANY_LINES) throw error
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
