/**
 * `npm run bench`: every figure a ratio against a reference in the same run. No arguments needed; under two minutes.
 *
 *     npm run bench -- [--out FOLDER] [--only NAME] [--rounds N] [--seconds S] [--connections N]
 *     npm run bench -- compare A.json B.json
 *
 * Exit codes: 0, 1 when something failed or a promise was broken under load, 2 usage.
 */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { systemClock } from '../src/base/clock.ts'
import { placedOnAnyCore, placedOnOneCore } from './cases/placed-orders.ts'
import { soldOut, soldOutWithoutTicket } from './cases/sold-out.ts'
import { canPin, pinLoad } from './cores.ts'
import { commitOf, compare, describeMachine, table, writeReport } from './report.ts'
import { type CaseResult, runCase } from './rounds.ts'
import { startStampede } from './servers/stampede.ts'

/** Refusals first: the hundreds of thousands of orders that the other cases leave in the server's memory cost them about 2 µs each. */
const CASES = [soldOut, soldOutWithoutTicket, placedOnOneCore, placedOnAnyCore]
const WARM_UP_MS = 1_500

interface Wishes {
  readonly out: string
  readonly only?: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
}

async function bench(wishes: Wishes): Promise<number> {
  const say = (line: string) => console.log(line)
  const { rounds, seconds, connections } = wishes
  const beganAt = systemClock.elapsed()
  const at = new Date(systemClock.now()).toISOString()
  pinLoad()
  const stampede = await startStampede(() => systemClock.now())
  const cases: CaseResult[] = []
  try {
    for (const one of CASES) {
      if (wishes.only !== undefined && !one.name.includes(wishes.only)) continue
      const plan = { rounds, roundMs: seconds * 1000, warmUpMs: WARM_UP_MS }
      cases.push(await runCase(one, { clock: systemClock, stampede, connections }, plan, say))
    }
  } finally {
    await stampede.stop()
  }
  const placement = canPin
    ? 'servers on core 0, load on core 1, PostgreSQL where the case says'
    : 'nothing pinned: it takes Linux, two cores and taskset'
  const report = {
    at,
    commit: commitOf(fileURLToPath(new URL('..', import.meta.url))),
    machine: describeMachine(),
    settings: { placement, rounds, seconds, connections },
    cases,
  }
  say(`\n${table(cases)}\n`)
  say(`${connections} connections, ${rounds} rounds of ${seconds} s; median [lowest–highest]; ${placement}.`)
  for (const one of cases) {
    if (Object.keys(one.settings).length > 0) say(`${one.name}: ${JSON.stringify(one.settings)}`)
    for (const violation of one.violations) say(`FAILED ${one.name}: ${violation}`)
  }
  say(`${await writeReport(report, wishes.out)} (${Math.round((systemClock.elapsed() - beganAt) / 1000)} s)`)
  return cases.some(one => one.violations.length > 0) ? 1 : 0
}

function count(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 10_000)) throw new Error(`"${text}" is not a number above 0`)
  return value
}

const program = new Command('bench')
  .description('measure Stampede beside references, in the same run')
  .option('--out <folder>', 'where the dated JSON goes', join(tmpdir(), 'stampede-bench'))
  .option('--only <name>', 'only cases whose name holds this')
  .option('--rounds <n>', 'rounds per case', count, 5)
  .option('--seconds <s>', 'length of a round', count, 1.5)
  .option('--connections <n>', 'connections of the load', count, 64)
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(async (wishes: Wishes) => {
    process.exitCode = await bench(wishes)
  })
program
  .command('compare <a> <b>')
  .description('the figures of two runs side by side')
  .action(async (a: string, b: string) => console.log(await compare(a, b)))

try {
  await program.parseAsync(process.argv)
  process.exit()
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
