/**
 * `npm run bench -- adversary [--quick] [--defence NAME]`: the honest buyers' share of the units beside an adversary, with each defence alone and with all but
 * it, as a table for docs/abuse.md; with `--defence NAME` that defence alone and the two rows that it is compared with. Exit code 1 if with all of them the share is below 95%, or a limit refused an honest buyer.
 */

import { systemClock } from '../../src/base/clock.ts'
import { ensureServers } from '../../test/servers.ts'
import { commitOf, describeMachine } from '../report.ts'
import { DEFENCES } from './defences.ts'
import type { Plan } from './population.ts'
import { ADVERSARY_CORES, type Outcome, runSale } from './run.ts'

const WHOLE: Plan = { honest: 5_000, office: 300, accounts: 1_000, units: 1_000, ticketsForS: 12, payWithinS: 14 }
const QUICK: Plan = { honest: 250, office: 60, accounts: 50, units: 100, ticketsForS: 4, payWithinS: 4 }
const SEED = 20_261_118
const SHARE_LEAST = 0.95

export async function adversary(quick: boolean, only?: string): Promise<number> {
  const plan = quick ? QUICK : WHOLE
  ensureServers(['nginx'], line => console.log(line))
  const names = DEFENCES.map(({ name }) => name)
  const run = async (label: string, on: readonly string[]) => {
    const outcome = await runSale(new Set(on), plan, SEED, systemClock)
    console.log(`${label}: ${sentence(outcome)}`)
    return outcome
  }
  const at = new Date(systemClock.now()).toISOString().slice(0, 10)
  const none = await run('none', [])
  const all = await run('all', names)
  const rows: string[] = []
  for (const { name, what } of DEFENCES.filter(one => only === undefined || one.name === only)) {
    const alone = await run(`${name} alone`, [name])
    const others = names.filter(other => other !== name)
    const without = await run(`all but ${name}`, others)
    rows.push(`| ${name}: ${what} | ${share(alone)} | ${share(without)} |`)
  }
  const { honest, office, accounts, units } = plan
  const { cpu, cores } = describeMachine()
  console.log(`
| defence | alone | all others, without it |
|---|---|---|
${rows.join('\n')}
| none, all | ${share(none)} | ${share(all)} |

${units} units, ${honest} honest buyers (${office} behind one address), ${accounts} accounts of an adversary with ${ADVERSARY_CORES} cores; seed ${SEED}; \
${at}, ${cpu}, ${cores} cores, ${commitOf(new URL('../..', import.meta.url).pathname)}`)
  const failed = [
    ...(all.honest < SHARE_LEAST ? [`honest buyers have ${share(all)} of the units with all defences on`] : []),
    ...(all.refusals > 0 ? [`${all.refusals} requests of honest buyers were refused by a limit`] : []),
    ...[none, all].flatMap(({ violations }) => violations),
  ]
  for (const what of failed) console.log(`FAILED ${what}`)
  return failed.length > 0 ? 1 : 0
}

const share = ({ honest }: Outcome) => `${(honest * 100).toFixed(1)}%`

function sentence({ honest, adversary: others, unsold, refusals, toHonest, toAdversary }: Outcome): string {
  const part = (value: number) => `${(value * 100).toFixed(1)}%`
  const told = (tally: Outcome['toHonest']) => [...tally].map(([code, times]) => `${code} ${times}`).join(', ')
  return `honest ${part(honest)}, adversary ${part(others)}, unsold ${part(unsold)}; honest buyers refused by a limit: ${refusals}
  honest buyers heard: ${told(toHonest)}
  the adversary heard: ${told(toAdversary)}`
}
