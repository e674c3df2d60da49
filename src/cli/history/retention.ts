/** `stampede retention`: deletes sales that are in the archive and older than asked for. Without `--yes` it only shows them. */

import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { DAY_MS } from '../../app/config/setting.ts'
import { toRfc3339 } from '../../base/clock.ts'
import { type Deleted, deleteOldSales, oldSales } from '../../flows/operate/delete-old-sales.ts'
import { print, printJson, table } from '../table.ts'
import { BY, withArchive } from './with-archive.ts'

/** More than a person reads. */
const SHOWN_MAX = 1_000
/** Of one sale, with their payments. More are deleted, but not counted before. */
const COUNTED_MAX = 100_000

interface RetentionOptions {
  readonly olderThan: number
  readonly yes?: boolean
  readonly json?: boolean
}

export function addRetention(program: Command): void {
  program
    .command('retention')
    .description('delete archived sales with all their orders and payments; shows them only, without --yes')
    .requiredOption('--older-than <days>', 'age of the final report, like 400d', parseDays)
    .option('--yes', 'delete them; it can not be undone')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nOnly sales that are in the archive as a whole (ARCHIVE_AFTER). What is not settled is never deleted.',
    )
    .action(({ olderThan, yes, json }: RetentionOptions) =>
      withArchive(yes === true, async archive => {
        if (yes) {
          const deleted = await showing(shown => deleteOldSales(archive, olderThan, BY, shown))
          return json ? printJson({ deleted }) : print(`deleted ${figuresOf(deleted)}`)
        }
        const sales = []
        for await (const { closesAtMs, ...sale } of oldSales(archive, olderThan, COUNTED_MAX)) {
          sales.push({ ...sale, closesAt: toRfc3339(closesAtMs) })
          if (sales.length === SHOWN_MAX) break
        }
        if (json) return printJson({ sales, countedUpTo: COUNTED_MAX, deleted: null })
        if (sales.length === 0) return print('nothing to delete: no archived sale is as old')
        const more = sales.length === SHOWN_MAX ? ', and perhaps more' : ''
        const lines = table(sales, [
          { title: 'sale', of: sale => sale.id },
          { title: 'name', of: sale => sale.name },
          { title: 'closed', of: sale => sale.closesAt },
          { title: 'orders', of: sale => counted(sale.orders, sale), right: true },
          { title: 'payments', of: sale => counted(sale.payments, sale), right: true },
        ])
        return print(`${lines}${sales.length} sales${more}; nothing is deleted without --yes`)
      }),
    )
}

function counted(rows: number, { orders }: { readonly orders: number }): string {
  return orders === COUNTED_MAX ? `${rows} or more` : String(rows)
}

function parseDays(text: string): number {
  const match = /^([1-9]\d{0,4})d$/.exec(text)
  if (match === null) throw new ConfigError(`--older-than: "${text}" is not a number of days; write 400d`)
  return Number(match[1]) * DAY_MS
}

function figuresOf({ sales, orders, payments, callbacks }: Deleted): string {
  return `${sales} sales, ${orders} orders, ${payments} payments, ${callbacks} records of provider calls`
}

/** One line that is written over on a terminal, nothing elsewhere. */
async function showing(work: (shown: (deleted: Deleted) => void) => Promise<Deleted>): Promise<Deleted> {
  const out = process.stderr
  try {
    return await work(deleted => {
      if (out.isTTY) out.write(`\r\x1b[2Kdeleting: ${figuresOf(deleted)}`)
    })
  } finally {
    if (out.isTTY) out.write('\r\x1b[2K')
  }
}
