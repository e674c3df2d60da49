/**
 * `npm run bench`: every figure is a ratio to a reference in the same run. Needs no arguments and less than five minutes. With `--all` also
 * memory, growth and the gate in Redis, a few minutes more.
 *
 *     npm run bench -- [NAME] [--all] [--json] [--out FOLDER] [--rounds N] [--seconds S] [--connections N]
 *     npm run bench -- redis
 *     npm run bench -- kafka             through Kafka and straight, a backlog of 100,000, events on and off
 *     npm run bench -- events
 *     npm run bench -- targets           cache hits, lags, P99, availability and how soon a difference is found, in a cluster
 *     npm run bench -- traces            what one traced click in a hundred costs, beside traces off
 *     npm run bench -- growth [orders|items|hot] [--quick] [--data FOLDER] [--most N]
 *     npm run bench -- challenge         what a proof of work costs the server, and what a flood of them slows
 *     npm run bench -- line              joins to a waiting line a second, and the memory of a person in it
 *     npm run bench -- sybil [--quick]   whose units they are when one person comes with many accounts, without a line and with a draw
 *     npm run bench -- adversary [--quick] [--defence NAME]   honest buyers' share of the units, with each defence on and off
 *     npm run bench -- disturbed [--quick] [--data FOLDER]
 *     npm run bench -- compare A.json B.json [--json]
 *
 * Exit codes: 0; 1 when something failed or a promise was broken under load; 2 for wrong usage; 130 and the like when it was interrupted, and
 * then nothing is left running. Speed never affects the exit code.
 */

import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { systemClock } from '../src/base/clock.ts'
import { ensureServers } from '../test/servers.ts'
import { adversary } from './adversary/command.ts'
import type { BenchCase, Stage, Survey, SurveyResult } from './bench-case.ts'
import { challengeFlood } from './cases/challenge-flood.ts'
import { clickToRow } from './cases/click-to-row.ts'
import { eventsOff } from './cases/events-off.ts'
import { firstSecond } from './cases/first-second.ts'
import { placedOrders } from './cases/placed-orders.ts'
import { redisGate } from './cases/redis-gate.ts'
import { redisPlaced } from './cases/redis-placed.ts'
import { redisShards } from './cases/redis-shards.ts'
import { refused } from './cases/refused.ts'
import { severalEdges } from './cases/several-edges.ts'
import { soldOut, soldOutWithoutTicket } from './cases/sold-out.ts'
import { throughKafka } from './cases/through-kafka.ts'
import { tracesOn } from './cases/traces-on.ts'
import { compare } from './compare.ts'
import { conclude } from './conclude.ts'
import { canPin, pinLoad } from './cores.ts'
import { endAll } from './endable.ts'
import { disturb, growth } from './growth/command.ts'
import { type CaseResult, runCase } from './rounds.ts'
import { startStampede } from './servers/stampede.ts'
import { challengeCost } from './surveys/challenge-cost.ts'
import { growthOverBuyers } from './surveys/growth-over-buyers.ts'
import { growthOverItems } from './surveys/growth-over-items.ts'
import { kafkaBacklog } from './surveys/kafka-backlog.ts'
import { line } from './surveys/line.ts'
import { memory } from './surveys/memory.ts'
import { targets } from './surveys/targets.ts'
import { sybil } from './sybil/command.ts'

/** Refusals first: the hundreds of thousands of orders that the other cases leave in memory would cost each refusal about 2 µs. */
const CASES: readonly BenchCase[] = [
  soldOut,
  soldOutWithoutTicket,
  refused,
  challengeFlood,
  ...placedOrders,
  ...clickToRow,
  firstSecond,
  ...eventsOff,
  ...tracesOn,
  ...redisGate,
  redisPlaced,
  redisShards,
  severalEdges,
  ...throughKafka,
]
/** The one with the most orders last. */
const SURVEYS: readonly Survey[] = [
  challengeCost,
  line,
  targets,
  memory,
  kafkaBacklog,
  growthOverItems,
  growthOverBuyers,
]
const WARM_UP_MS_MAX = 1_000
/** Rounds shorter than this only show that everything runs. */
const BLINK_S = 0.5

interface Options {
  readonly all: boolean
  readonly out: string
  readonly only?: string
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly json?: boolean
}

async function bench(options: Options): Promise<number> {
  // For machines, standard output has the report and nothing else.
  const print = options.json ? (line: string) => console.error(line) : (line: string) => console.log(line)
  const { rounds, seconds, connections, only = '' } = options
  const named = only !== '' || options.all
  const isMeant = (one: BenchCase) => one.name.includes(only) || one.alsoNamed === only
  const chosen = CASES.filter(one => isMeant(one) && (named || one.onlyWhenNamed !== true))
  const surveyed = SURVEYS.filter(
    one => one.name.includes(only) && (options.all || (only !== '' && one.byName === true)),
  )
  if (chosen.length + surveyed.length === 0) throw new InvalidArgumentError(`no case has "${only}" in its name`)
  ensureServers([...new Set([...chosen, ...surveyed].flatMap(one => one.needs ?? []))], print)
  const beganAt = systemClock.elapsed()
  const at = new Date(systemClock.now()).toISOString()
  pinLoad()
  const cases: CaseResult[] = []
  const surveys: SurveyResult[] = []
  const roundMs = seconds * 1000
  const plan = { rounds, roundMs, warmUpMs: Math.min(WARM_UP_MS_MAX, roundMs) }
  // Each part has its own server: what one leaves in memory is not the cost of the next.
  const onStage = async (part: (stage: Stage) => Promise<void>) => {
    const stampede = await startStampede(() => systemClock.now())
    try {
      await part({ clock: systemClock, stampede, connections, roundMs, blink: seconds < BLINK_S })
    } finally {
      await stampede.stop()
    }
  }
  if (chosen.length > 0)
    await onStage(async stage => {
      for (const one of chosen) cases.push(await runCase(one, stage, plan, print))
    })
  for (const one of surveyed) await onStage(async stage => void surveys.push(await one.run(stage, print)))

  const placement = canPin
    ? 'servers on core 0, load on core 1, PostgreSQL on the core that the case names'
    : 'nothing pinned: pinning needs Linux, two cores and taskset'
  const note = `${connections} connections unless the case sets its own, ${rounds} rounds of ${seconds} s; median [lowest–highest]; ${placement}.`
  const settings = { placement, rounds, seconds, connections }
  const { out, json = false } = options
  return conclude({ at, beganMs: beganAt, settings, note, cases, surveys, out, json, print })
}

function amount(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 10_000)) throw new InvalidArgumentError('It must be a number above 0, up to 10,000.')
  return value
}

function size(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.')
  return Number(text)
}

/** A part of a round would measure nothing. */
function count(text: string): number {
  if (!Number.isInteger(amount(text))) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

const program = new Command('stampede bench')
  .description('measure Stampede and reference servers in the same run')
  .option('--all', 'also measure memory, growth and the gate in Redis', false)
  .option('--out <folder>', 'the folder of the dated JSON report', join(tmpdir(), 'stampede-bench'))
  .argument('[name]', 'only cases whose name contains this')
  .option('--only <name>', 'the same as the argument')
  .option('--json', 'print the report as JSON on standard output')
  .option('--rounds <n>', 'rounds per case', count, 5)
  .option('--seconds <s>', 'length of a round in seconds', amount, 1)
  .option('--connections <n>', 'connections of the load, unless the case sets its own', count, 64)
  .exitOverride(error => process.exit(error.exitCode === 0 ? 0 : 2))
  .action(async (name: string | undefined, options: Options) => {
    process.exitCode = await bench(name === undefined ? options : { ...options, only: name })
  })
program
  .command('compare <a> <b>')
  .description('compare the figures of two reports; with --json as JSON')
  // --json is an option of the program: commander does not pass it to a subcommand.
  .action(async (a: string, b: string) => console.log(await compare(a, b, program.opts<Options>().json === true)))

interface SurveyOptions {
  readonly quick: boolean
  readonly most?: number
  readonly data?: string
}

function surveyCommand(command: string, about: string): Command {
  return program
    .command(command)
    .description(about)
    .option('--quick', 'small sizes: shows that everything runs', false)
    .option('--data <folder>', 'keep the ledgers with old orders here, for further runs')
}

/** `--json` and `--out` are options of the program. */
function withProgram(own: SurveyOptions) {
  const { out, json = false } = program.opts<Options>()
  return { ...own, out, json }
}

surveyCommand('growth [part]', 'what grows with old orders, items on sale and hot items (one part: orders, items, hot)')
  .option('--most <n>', 'another largest size of orders or items', size)
  .action(async (part: string | undefined, own: SurveyOptions) => {
    process.exitCode = await growth(part, withProgram(own))
  })
surveyCommand('disturbed', 'placing while buyers and operators read, beside placing alone').action(
  async (own: SurveyOptions) => {
    process.exitCode = await disturb(withProgram(own))
  },
)

program
  .command('adversary')
  .description("the honest buyers' share of the units beside an adversary, with each defence on and off")
  .option('--quick', 'a small crowd: shows that everything runs', false)
  .option('--defence <name>', 'only this row of the table')
  .action(async ({ quick, defence }: { quick: boolean; defence?: string }) => {
    process.exitCode = await adversary(quick, defence)
  })

program
  .command('sybil')
  .description('whose units they are when one person comes with many accounts, without a line and with a draw')
  .option('--quick', 'one draw instead of five', false)
  .action(async ({ quick }: { quick: boolean }) => {
    process.exitCode = await sybil(quick)
  })

let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (interrupted) return
    interrupted = true
    process.stderr.write('bench: interrupted; nothing was written\n')
    void endAll().then(() => process.exit(128 + constants.signals[signal]))
  })
}

try {
  await program.parseAsync(process.argv)
  if (!interrupted) process.exit()
} catch (error) {
  // Errors after the signal come from servers that are being stopped.
  if (interrupted) await new Promise(() => {})
  await endAll()
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exit(error instanceof InvalidArgumentError ? 2 : 1)
}
