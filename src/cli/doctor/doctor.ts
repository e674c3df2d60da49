/**
 * `stampede doctor`: is every part there, and set as it must be? One line for each check, and what to do about what it found.
 * Changes nothing that is in use: an embedded PostgreSQL that does not run is started for a moment, on its own data, or on a new temporary
 * folder when there is no data yet. With `--live` it asks whether real buyers may come, too (`live*.ts`). Exit code 1 when something keeps a sale from being safe. With `--plan` it checks nothing and says what
 * to run (`plan.ts`).
 */

import type { Command } from 'commander'
import { openForExamination } from '../../app/compose-payments.ts'
import { type Config, ConfigError, readConfigForTools } from '../../app/config/config.ts'
import { unsafeSettings } from '../../app/config/unsafe-settings.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { card, print, printJson, table } from '../table.ts'
import { bad, type Finding, good, odd, SILENT } from './finding.ts'
import { checkLedger } from './ledger.ts'
import { checkLive } from './live.ts'
import { checkBackups } from './live-backups.ts'
import { checkFront } from './live-front.ts'
import { checkShop } from './live-settings.ts'
import { checkDisk, checkOpenFiles, checkRuntime, checkSecrets } from './machine.ts'
import { explainPlan, readPlan } from './plan.ts'
import { checkRedis } from './redis.ts'

const MEND = 'correct the environment variable that is named'

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check that everything is there and set as it must be, and say what to do')
    .option('--plan <numbers...>', 'units and buyers of a sale: say what to run for it, and check nothing')
    .option('--live', 'may real buyers come? asks the payment providers and this shop’s own public address too')
    .option('--json', 'print JSON')
    .action(async (options: { plan?: readonly string[]; live?: boolean; json?: boolean }) => {
      if (options.plan !== undefined) {
        const plan = readPlan(options.plan)
        return options.json ? printJson(plan) : print(card(explainPlan(plan)))
      }
      const findings = await examine(options.live ?? false)
      const failed = findings.filter(finding => finding.state === 'bad')
      if (options.json) await printJson({ healthy: failed.length === 0, findings })
      else await show(findings)
      if (failed.length > 0) throw new Fault('unhealthy', `${failed.length} of ${findings.length} checks failed`)
    })
}

async function show(findings: readonly Finding[]): Promise<void> {
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

async function examine(live: boolean): Promise<readonly Finding[]> {
  const machine = [checkRuntime(), checkOpenFiles()]
  let config: Config
  try {
    config = readConfigForTools()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [...machine, bad('settings', error.message, MEND)]
  }
  return [
    ...machine,
    checkSettings(config),
    checkPayments(config),
    ...unsafeSettings(config).map(({ which, value, words, todo }) => odd(which, `${value}: ${words}`, todo)),
    await checkDisk(config.dataDir),
    ...checkSecrets(config.dataDir),
    ...(await checkLedger(config, systemClock)),
    ...(await checkRedis(config, systemClock)),
    ...(live ? await examineLive(config) : []),
  ]
}

async function examineLive(config: Config): Promise<readonly Finding[]> {
  const ports = { config, clock: systemClock, random: systemRandom, log: SILENT }
  const providers = await openForExamination(ports).catch((error: unknown) => {
    // An account that is not whole can't be opened; `settings` has said what is missing.
    if (config.missing === undefined) throw error
    return []
  })
  try {
    return [
      ...(await checkLive(config, providers, systemClock)),
      ...(await checkFront({ publicUrl: config.publicUrl, clock: systemClock })),
      ...checkShop(config),
      await checkBackups(config, systemClock),
    ]
  } finally {
    for (const provider of providers) await provider.stop?.()
  }
}

function checkSettings({ missing, databaseUrl, redis, host, port }: Config): Finding {
  if (missing !== undefined) return bad('settings', `"stampede serve" would stop: ${missing}`, MEND)
  const ledger = databaseUrl === undefined ? 'embedded ledger' : 'ledger of your own'
  return good('settings', `${ledger}${redis === undefined ? '' : ', gate in Redis'}, ${host}:${port}`)
}

function checkPayments({ paymentProviders }: Config): Finding {
  if (paymentProviders.length > 0) return good('payments', paymentProviders.join(', '))
  return odd('payments', 'no provider: orders can not be paid', 'name a payment provider in PAYMENT_PROVIDERS')
}
