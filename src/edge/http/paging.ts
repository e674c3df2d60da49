/** Pages of a list: one row more than is shown is read, to find out whether there is another page. */

interface Page<Row> {
  readonly shown: readonly Row[]
  /** The cursor for `after`; null at the end. */
  readonly next: string | null
}

/** How many to read for a page of so many. */
export function toRead(limit: number): number {
  return limit + 1
}

export function pageOf<Row extends { readonly id: string }>(found: readonly Row[], limit: number): Page<Row> {
  const shown = found.slice(0, limit)
  return { shown, next: found.length > limit ? (shown.at(-1)?.id ?? null) : null }
}
