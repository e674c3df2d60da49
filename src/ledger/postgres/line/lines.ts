/** Waiting lines in PostgreSQL. Joins and their ends are written in one transaction under the line's row lock, so that numbers are in the order of commit. */

import { assert } from '../../../base/assert.ts'
import type { LineRate } from '../../../domain/line.ts'
import type { LineStatus, Lines, LineWrite, NumberedJoin } from '../../lines.ts'
import type { Database, Row } from '../connection/database.ts'
import { arrayOf } from '../place-replies.ts'
import { number, optional, queries, text, time } from '../rows.ts'

export function createLines(database: Pick<Database, 'run' | 'transaction'>): Lines {
  const { all, act, did, first } = queries(database)
  return {
    open: (sale, saltKey, head) => act('open_line', [sale, saltKey, head]),
    statuses: sales => all('line_states', [sales], toStatus),
    write(sale, buyers, decide) {
      return database.transaction(async run => {
        const [locked] = await run('lock_line', [sale])
        if (locked === undefined) return undefined
        // Read after the lock was granted.
        const joined = toNumbers(await run('joins_of_buyers', [sale, buyers]))
        const { write, result } = decide({ ...toProgress(locked), saltKey: bytes(locked, 'salt_key'), joined })
        if (write !== undefined) await save(run, sale, write)
        return result
      })
    },
    numbersOf: async (sale, buyers) => toNumbers(await database.run('joins_of_buyers', [sale, buyers])),
    joinsAfter: (sale, after, max) => all('joins_after', [sale, after, max], toJoin),
    leavesAfter: (sale, after, max) =>
      all('leaves_after', [sale, after, max], row => ({
        number: number(row, 'number'),
        leftNo: number(row, 'left_no'),
      })),
    stepsAfter: (sale, after) =>
      all('line_steps', [sale, after], row => ({ letIn: number(row, 'let_in'), atMs: time(row, 'at') })),
    letIn: (sale, from, to, keptMs) => first('let_in', [sale, from, to, keptMs], row => time(row, 'at')),
    steer: (sale, { rate, paused }, by, action) =>
      did('steer_line', [sale, rate === undefined ? null : String(rate), paused ?? null, by, action]),
  }
}

async function save(
  run: Database['run'],
  sale: string,
  { joins, ends, numbers, leaves, head }: LineWrite,
): Promise<void> {
  if (ends.length > 0)
    await run('end_joins', [sale, arrayOf(ends.map(one => one.number)), arrayOf(ends.map(one => one.leftNo))])
  const written = await run('add_joins', [
    sale,
    arrayOf(joins.map(one => one.number)),
    joins.map(one => one.buyer),
    arrayOf(joins.map(one => one.leftNo ?? 0)),
    Buffer.concat(joins.map(one => one.proof)),
    numbers,
    leaves,
    head,
  ])
  assert(written.length === 1, `the line of sale ${sale} is locked and can't be written`)
}

function toNumbers(rows: readonly Row[]): ReadonlyMap<string, number> {
  return new Map(rows.map(row => [text(row, 'buyer'), number(row, 'number')]))
}

function toProgress(row: Row) {
  return { head: bytes(row, 'head'), numbers: number(row, 'numbers'), leaves: number(row, 'leaves') }
}

function toStatus(row: Row): LineStatus {
  const rate = optional(row, 'rate', text)
  return {
    ...toProgress(row),
    sale: text(row, 'sale'),
    saltKey: bytes(row, 'salt_key'),
    letIn: number(row, 'let_in'),
    rate: rate === undefined || rate === 'auto' ? rate : toRate(rate),
    paused: row.paused === true,
  }
}

function toRate(rate: string): LineRate {
  const perSecond = Number(rate)
  assert(perSecond >= 0, 'column rate is no rate')
  return perSecond
}

function toJoin(row: Row): NumberedJoin {
  return {
    number: number(row, 'number'),
    buyer: text(row, 'buyer'),
    proof: bytes(row, 'proof'),
    leftNo: optional(row, 'left_no', number),
  }
}

function bytes(row: Row, column: string): Uint8Array {
  const value = row[column]
  assert(value instanceof Uint8Array, `column ${column} is not bytes`)
  return value
}
