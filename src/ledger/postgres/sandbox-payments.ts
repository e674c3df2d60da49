/**
 * The sandbox provider's payments, shared by several processes: texts under a ref, moved by compare-and-set. No order and no payment of the
 * ledger depends on them, and what the texts say is not read here. Payment declares the contract (`SharedRows`), app wires it.
 */

import type { Database } from './connection/database.ts'
import { number, text } from './rows.ts'

interface SharedRow {
  readonly text: string
  readonly madeAtMs: number
  readonly over: boolean
}

export function createSandboxPayments(database: Database) {
  return {
    async read(ref: string) {
      const [row] = await database.run('read_sandbox_payment', [ref])
      return row === undefined ? undefined : text(row, 'body')
    },
    async replace(ref: string, before: string | undefined, { text: body, madeAtMs, over }: SharedRow) {
      const rows =
        before === undefined
          ? await database.run('add_sandbox_payment', [ref, body, madeAtMs, over])
          : await database.run('replace_sandbox_payment', [ref, before, body, over])
      return rows.length === 1
    },
    async count() {
      const [row] = await database.run('count_sandbox_payments', [])
      return row === undefined ? 0 : number(row, 'count')
    },
    async forget(madeBeforeMs: number, most: number) {
      return (await database.run('forget_sandbox_payments', [madeBeforeMs, most])).length
    },
  }
}
