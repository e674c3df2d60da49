/** `stampede erase`: takes a buyer's id out of the ledger's settled sales. Without `--yes` it only counts. */

import type { Command } from 'commander'
import { ConfigError } from '../../app/config/config.ts'
import { Fault } from '../../base/fault.ts'
import { isBuyerId } from '../../domain/ids.ts'
import type { Erased } from '../../ledger/archive.ts'
import { card, print, printJson } from '../table.ts'
import { BY, withArchive } from './with-archive.ts'

interface EraseOptions {
  readonly buyer: string
  readonly yes?: boolean
  readonly json?: boolean
}

export function addErase(program: Command): void {
  program
    .command('erase')
    .description("replace a buyer's id in all settled sales by one that leads to no buyer; counts only, without --yes")
    .requiredOption('--buyer <id>', "the id in the shop's token")
    .option('--yes', 'do it; it can not be undone')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nOrders of sales that are not settled keep the id: exit code 1, and run it again when they are. Backups and the records of shop and provider are yours to erase.',
    )
    .action(({ buyer, yes, json }: EraseOptions) =>
      withArchive(yes === true, async archive => {
        if (!isBuyerId(buyer)) throw new ConfigError('--buyer: is no id of a buyer')
        const { remaining, ...erased } = await archive.erase(buyer, BY, !yes)
        if (json) await printJson({ erased: yes ? erased : null, found: erased, remaining })
        else await print(`${cardOf(erased, remaining)}${yes ? 'erased' : 'nothing is erased without --yes'}`)
        if (yes && remaining > 0)
          throw new Fault(
            'not_settled',
            `${remaining} orders keep the id until their sales are settled: run it again then`,
          )
      }),
    )
}

function cardOf({ orders, archived, letters, reports }: Omit<Erased, 'remaining'>, remaining: number): string {
  return card([
    ['orders', orders],
    ['orders in the archive', archived],
    ['dead letters', letters],
    ['reports', reports],
    ['orders that keep it (not settled)', remaining],
  ])
}
