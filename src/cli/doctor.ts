/**
 * `stampede doctor`: are the parts there, and set as they must be? One line for each thing looked at, and for each finding what to do.
 * Changes nothing that is in use: an embedded PostgreSQL that does not run is started for a moment, on its own data, or on a new folder
 * under the temporary one when there is no data yet. Exit code 1 when something keeps a sale from being safe.
 * With `--plan` it looks at nothing and says what to run (`doctor-plan.ts`).
 */

import type { Command } from 'commander'
import { type Config, ConfigError, readConfigForTools } from '../app/config.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { checkLedger } from './doctor-ledger.ts'
import { checkDisk, checkOpenFiles, checkRuntime, checkSecrets } from './doctor-machine.ts'
import { explainPlan, readPlan } from './doctor-plan.ts'
import { checkRedis } from './doctor-redis.ts'
import type { Finding } from './finding.ts'
import { card, print, printJson, table } from './table.ts'

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look whether everything is there and set as it must be, and say what to do')
    .option('--plan <numbers...>', 'units and buyers of a sale: say what to run for it, and look at nothing')
    .option('--json', 'for machines')
    .action(async (options: { plan?: readonly string[]; json?: boolean }) => {
      if (options.plan !== undefined) {
        const plan = readPlan(options.plan)
        return options.json ? printJson(plan) : print(card(explainPlan(plan)))
      }
      const findings = await examine()
      const bad = findings.filter(finding => finding.state === 'bad')
      if (options.json) await printJson({ healthy: bad.length === 0, findings })
      else {
        await print(
          table(findings, [
            { title: '', of: finding => ({ good: 'ok', odd: 'look', bad: 'BAD' })[finding.state] },
            { title: 'what', of: finding => finding.what },
            { title: 'found', of: finding => finding.found },
          ]),
        )
        const advice = findings.filter(finding => finding.advice !== undefined)
        if (advice.length > 0) await print(`\n${advice.map(({ what, advice }) => `${what}: ${advice}`).join('\n')}`)
      }
      if (bad.length > 0) throw new Fault('unhealthy', `${bad.length} of ${findings.length} checks failed`)
    })
}

const MEND = 'mend the environment variable that is named'

async function examine(): Promise<readonly Finding[]> {
  const findings: Finding[] = [checkRuntime(), checkOpenFiles()]
  let config: Config
  try {
    config = readConfigForTools()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...findings, { what: 'settings', state: 'bad', found: error.message, advice: MEND }]
  }
  const ledger = config.databaseUrl === undefined ? 'embedded ledger' : 'ledger of your own'
  const gate = config.redis === undefined ? '' : ', gate in Redis'
  findings.push(
    config.missing === undefined
      ? { what: 'settings', state: 'good', found: `${ledger}${gate}, ${config.host}:${config.port}` }
      : { what: 'settings', state: 'bad', found: `"stampede serve" would stop: ${config.missing}`, advice: MEND },
  )
  findings.push(await checkDisk(config.dataDir), ...checkSecrets(config.dataDir))
  return [...findings, ...(await checkLedger(config, systemClock)), ...(await checkRedis(config, systemClock))]
}
