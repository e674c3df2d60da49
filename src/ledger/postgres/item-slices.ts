/**
 * All orders of a sale are read in slices of its items with about so many units: placing waits for a slice at most. The orders of one item are
 * one slice, however many: its figures must be of one moment.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { Database, Row } from './connection/database.ts'
import { number, optional } from './rows.ts'

const SLICE_UNITS = 50_000

/** The rows of all slices. The last row of each slice says up to which item it has come. */
export async function allSlices(
  database: Pick<Database, 'run'>,
  name: string,
  sale: SaleId,
  ...more: readonly unknown[]
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let behind: number | undefined = -1; behind !== undefined; ) {
    const slice = await database.run(name, [sale, behind, SLICE_UNITS, ...more])
    rows.push(...slice)
    const end = slice.at(-1)
    const at = end && optional(end, 'position', number)
    behind = at === undefined || at === optional(end!, 'last_position', number) ? undefined : at
  }
  return rows
}
