/**
 * The same work for each of many, so many at once. A fault of one does not hold up the others: the first is thrown when all had their turn.
 * A bug is thrown at once.
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
  for (let i = 0; i < all.length; i += atOnceMax)
    await Promise.all(all.slice(i, i + atOnceMax).map(one => onFault(() => act(one), keep)))
  if (first !== undefined) throw first
}
