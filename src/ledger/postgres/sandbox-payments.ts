/**
 * The sandbox provider's payments, shared by several processes: texts under a ref, moved by compare-and-set. No order and no payment of the
 * ledger depends on them, and what the texts say is not read here. Payment declares the contract (`SandboxRows`), app wires it.
 */

import type { Database } from './connection/database.ts'
import { number, queries, text } from './rows.ts'

export function createSandboxPayments(database: Database) {
  const { first, one, did } = queries(database)
  return {
    read: (ref: string) => first('read_sandbox_payment', [ref], row => text(row, 'body')),
    replace: (ref: string, before: string | undefined, row: { text: string; madeAtMs: number; over: boolean }) =>
      before === undefined
        ? did('add_sandbox_payment', [ref, row.text, row.madeAtMs, row.over])
        : did('replace_sandbox_payment', [ref, before, row.text, row.over]),
    count: () => one('count_sandbox_payments', [], row => number(row, 'count')),
    forget: async (madeBeforeMs: number, most: number) =>
      (await database.run('forget_sandbox_payments', [madeBeforeMs, most])).length,
  }
}
