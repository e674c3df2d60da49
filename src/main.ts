/** The command line: parse it, run the command, and turn what stops it into one clear line and an exit code (1 failed, 2 usage). */

import { Command } from 'commander'
import { backupEmbedded, restoreEmbedded } from './app/compose-ledger.ts'
import { addBackup } from './cli/backup.ts'
import { addBench } from './cli/bench.ts'
import { addCompletion } from './cli/completion.ts'
import { addConfig } from './cli/config.ts'
import { addDemoCrowd } from './cli/demo-crowd.ts'
import { addDoctor } from './cli/doctor.ts'
import { explain } from './cli/explain.ts'
import { addMigrate } from './cli/migrate.ts'
import { addOrder } from './cli/order.ts'
import { addPage } from './cli/page.ts'
import { addReconcile } from './cli/reconcile.ts'
import { addRehearse } from './cli/rehearse.ts'
import { addRestore } from './cli/restore.ts'
import { addSale } from './cli/sale.ts'
import { addServe } from './cli/serve.ts'

const program = new Command('stampede')
  .description('A flash-sale engine: sells each unit exactly once and keeps its word when a part dies.')
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))
addServe(program)
addSale(program)
addOrder(program)
addReconcile(program)
addMigrate(program)
addPage(program)
addDoctor(program)
addConfig(program)
addBench(program)
addBackup(program, backupEmbedded)
addRestore(program, restoreEmbedded)
addRehearse(program)
addDemoCrowd(program)
addCompletion(program)

program.parseAsync(process.argv).then(
  () => process.exit(0),
  (error: unknown) => {
    const { line, exitCode } = explain(error)
    process.stderr.write(`stampede: ${line}\n`)
    process.exit(exitCode)
  },
)
