/** The command line: parse it, run the command, and turn what stops it into one clear line and an exit code (1 failed, 2 usage). */

import { Command } from 'commander'
import { VERSION } from './app/start/version.ts'
import { addBackup } from './cli/backup.ts'
import { addBench } from './cli/bench.ts'
import { addCompletion } from './cli/completion.ts'
import { addConfig } from './cli/config.ts'
import { addDead } from './cli/dead.ts'
import { addDemoCrowd } from './cli/demo-crowd.ts'
import { addDoctor } from './cli/doctor/doctor.ts'
import { addDraw } from './cli/draw/draw.ts'
import { addEvents } from './cli/events-tail.ts'
import { addErase } from './cli/history/erase.ts'
import { addRetention } from './cli/history/retention.ts'
import { addMigrate } from './cli/migrate.ts'
import { addPage } from './cli/page.ts'
import { addRehearse } from './cli/rehearse/rehearse.ts'
import { addAlerts } from './cli/sale/alerts.ts'
import { addExplain } from './cli/sale/explain.ts'
import { addFlight } from './cli/sale/flight.ts'
import { addList } from './cli/sale/list.ts'
import { addOrder } from './cli/sale/order.ts'
import { addPayments } from './cli/sale/payments.ts'
import { addReconcile } from './cli/sale/reconcile.ts'
import { addSale } from './cli/sale/sale.ts'
import { addServe, explain } from './cli/serve.ts'

const program = new Command('stampede')
  .version(VERSION, '--version', 'print the version')
  .description('A flash-sale engine: sells each unit exactly once and keeps its word when a part dies.')
  // One prefix for every error, its own and ours.
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'stampede: ')) })
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))
addServe(program)
addSale(program)
addOrder(program)
addExplain(program)
addFlight(program)
addReconcile(program)
addEvents(program)
addAlerts(program)
addDraw(program)
addMigrate(program)
addPage(program)
addDoctor(program)
addConfig(program)
addBench(program)
addBackup(program)
addRetention(program)
addErase(program)
addDead(program)
addPayments(program)
addList(program)
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
