/** The sandbox provider's payments in PostgreSQL. */

import type { SandboxPayments } from '../sandbox-payments.ts'
import type { Database } from './database.ts'
import { number, text } from './rows.ts'

export function createSandboxPayments(database: Database): SandboxPayments {
  return {
    async read(ref) {
      const [row] = await database.run('read_sandbox_payment', [ref])
      return row === undefined ? undefined : text(row, 'body')
    },
    async replace(ref, before, { text: body, madeAtMs, over }) {
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
    async forget(madeBeforeMs, most) {
      return (await database.run('forget_sandbox_payments', [madeBeforeMs, most])).length
    },
  }
}
