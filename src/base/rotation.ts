/**
 * A long list, read in pages in the order of its keys: each call reads the next page, and after the last page the first one again. Entries that
 * stay in the list, however many, never keep what lies behind them from its turn.
 */

/** Before the first key: keys are ids, and ids are positive. */
const FROM_THE_START = '0'

/** @param read a page: entries with a key behind `after`, in the order of their keys */
export function createRotation<T>(
  pageMax: number,
  read: (after: string, max: number) => Promise<readonly T[]>,
  keyOf: (one: T) => string,
): () => Promise<{ readonly page: readonly T[]; readonly isLast: boolean }> {
  let after = FROM_THE_START
  return async () => {
    const page = await read(after, pageMax)
    const isLast = page.length < pageMax
    after = isLast ? FROM_THE_START : keyOf(page.at(-1)!)
    return { page, isLast }
  }
}
