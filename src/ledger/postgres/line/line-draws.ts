/** Draws in PostgreSQL. */

import { assert } from '../../../base/assert.ts'
import type { LineDraw, LineDraws } from '../../line-draws.ts'
import type { Database, Row } from '../connection/database.ts'
import { number, optional, queries, text, time } from '../rows.ts'

export function createLineDraws(database: Pick<Database, 'run'>): LineDraws {
  const { all, act, did } = queries(database)
  const find: LineDraws['find'] = sales => all('line_draws', [sales], toDraw)
  return {
    async open({ sale, algorithm, seed, sealsAtMs, promise }) {
      await act('open_draw', [sale, algorithm, seed, sealsAtMs, promise?.source ?? null, promise?.round ?? null])
      const [draw] = await find([sale])
      assert(draw !== undefined, `sale ${sale} has no draw`)
      return draw
    },
    find,
    seal: sale => did('seal_draw', [sale]),
    setBeacon: (sale, { source, round, value, signature }, by) =>
      did('set_beacon', [sale, source, round ?? null, value, signature ?? null, by]),
    draw: sale => did('set_drawn', [sale]),
  }
}

function toDraw(row: Row): LineDraw {
  const source = optional(row, 'beacon_source', text)
  const promise = source === undefined ? undefined : { source, round: optional(row, 'beacon_round', number) }
  const value = optional(row, 'beacon_value', text)
  const drawnAtMs = optional(row, 'drawn_at', time)
  const joins = optional(row, 'joins', number)
  return {
    sale: text(row, 'sale'),
    algorithm: text(row, 'algorithm'),
    commitment: bytes(row, 'commitment'),
    sealsAtMs: time(row, 'seals_at'),
    promise,
    sealed: joins === undefined ? undefined : { joins, leaves: number(row, 'leaves'), root: bytes(row, 'root') },
    beacon:
      promise === undefined || value === undefined
        ? undefined
        : { ...promise, value, signature: optional(row, 'beacon_signature', text) },
    drawn: drawnAtMs === undefined ? undefined : { seed: bytes(row, 'seed'), atMs: drawnAtMs },
  }
}

function bytes(row: Row, column: string): Uint8Array {
  const value = row[column]
  assert(value instanceof Uint8Array, `column ${column} is not bytes`)
  return value
}
