/**
 * The same work for each of many, so many at once: the next begins when one has ended. A fault of one does not hold up the others: the first is
 * thrown when all had their turn. A bug is thrown at once.
 */

import { type Fault, onFault } from './fault.ts'

export async function eachOf<T>(
  all: readonly T[],
  atOnceMax: number,
  act: (one: T) => Promise<unknown>,
): Promise<void> {
  let first: Fault | undefined
  const keep = (fault: Fault) => {
    first ??= fault
  }
  let next = 0
  const takeTurns = async () => {
    try {
      while (next < all.length) {
        const one = all[next++]!
        await onFault(() => act(one), keep)
      }
    } finally {
      // After a bug no other is begun.
      next = all.length
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, all.length) }, takeTurns))
  if (first !== undefined) throw first
}
