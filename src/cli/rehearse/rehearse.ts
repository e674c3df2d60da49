/**
 * `stampede rehearse`: a whole sale with a crowd that never existed, on a throwaway server or against a running one, and a verdict.
 * Exit code 0 when every promise was kept, 1 when not or when it could not be found out, 2 when it was asked for in a way that can't work.
 */

import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { ConfigError, readCliEnvironment } from '../../app/config/config.ts'
import { discardDataDir } from '../../app/config/data-dir.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { slotOf } from '../../base/redis/slots.ts'
import { shardsFor } from '../../domain/shards.ts'
import { shardIdsOf } from '../../gate/shard-ids.ts'
import { type Cluster, FAULTS, readClusterFile, signalPart } from '../../rehearsal/fault/cluster.ts'
import type { FaultPlan } from '../../rehearsal/fault/mid-run-fault.ts'
import { type ServerCommand, startChildServer } from '../../rehearsal/operator/child-server.ts'
import { startThrowawayServer } from '../../rehearsal/operator/throwaway-server.ts'
import { DEFAULT_MIX } from '../../rehearsal/plan/plan.ts'
import { rehearse } from '../../rehearsal/rehearse.ts'
import type { Rehearsal } from '../../rehearsal/result.ts'
import { whole } from '../../rehearsal/verdict/verdict.ts'
import { orUsage, wholeNumber } from '../arguments.ts'
import { keptToken, parseServer } from '../sale/client.ts'
import { print, printJson } from '../table.ts'
import { createInterrupt } from './interrupt.ts'
import { createProgressLine } from './progress-line.ts'
import { BUYERS, CONNECTIONS_MAX, type RehearseOptions, readCrowd } from './rehearse-options.ts'
import { checkReportPath, writeReport } from './rehearse-report.ts'
import { serveConstantRehearsal, serveRehearsal } from './rehearse-server.ts'

const INTERRUPTED = 130
const SERVER_COMMAND = 'rehearse-server'
const CONSTANT_COMMAND = 'rehearse-constant'
const CLUSTER_FILE = './data/cluster/cluster.json'

export function addRehearse(program: Command): void {
  program
    .command('rehearse')
    .description(
      'rehearse a sale with a made-up crowd and get a verdict: on a throwaway server, or against a running one',
    )
    .option('--buyers <n>', `how many (default: ${BUYERS}, or as many as --replay has)`, wholeNumber('--buyers'))
    .option('--units <n>', 'units on sale', wholeNumber('--units'), 1000)
    .option(
      '--shards <n>',
      'shards of the gate that the units are spread over, in a cluster',
      wholeNumber('--shards'),
      1,
    )
    .option('--within <time>', 'the time in which all of them click: 500ms, 1s, 2m (default: 1s)')
    .option('--shape <shape>', 'spike at the opening (default), ramp, or poisson')
    .option('--rate <n>', 'clicks a second on average, as a Poisson stream; instead of --within', wholeNumber('--rate'))
    .option('--replay <file>', 'recorded clicks: milliseconds after the opening, one a line')
    .option('--mix <shares>', `percent, like early=10,bots=0 (default: ${showMix()})`)
    .option('--connections <n>', `keep-alive connections, up to ${CONNECTIONS_MAX}`, wholeNumber('--connections'))
    .option('--seed <n>', 'the same seed makes the same crowd', wholeNumber('--seed'))
    .option('--against <url>', 'a running server instead of a throwaway one; the sale is its own and marked REHEARSAL')
    .option(
      '--token <token>',
      'operator token, with --against (default: STAMPEDE_TOKEN, ADMIN_TOKEN, or the one in DATA_DIR)',
    )
    .option('--line <rate>', 'the sale has a waiting line: buyers join and are let in at this rate a second, or auto')
    .option('--buyer-secret <secret>', 'with --against: sign buyers as the shop does, instead of guest sign-in')
    .option('--fault <part>', `kill a part of the cluster in the middle of the run: ${FAULTS.join(', ')}`)
    .option(
      '--cluster <file>',
      `the cluster on this machine, as its supervisor describes it (default: ${CLUSTER_FILE})`,
    )
    .option('--no-constant', 'leave out the same crowd at a constant server, which is there for comparison')
    .option('--report <file>', 'where the report goes (default: rehearsal-TIME.html here)')
    .option('--json', 'print JSON')
    .action(run)
  program
    .command(SERVER_COMMAND, { hidden: true })
    .description('the throwaway server of a rehearsal: settings on standard input, ends with it')
    .action(serveRehearsal)
  program
    .command(CONSTANT_COMMAND, { hidden: true })
    .description('a server that answers everything alike, for comparison: ends with standard input')
    .action(serveConstantRehearsal)
}

async function run(options: RehearseOptions): Promise<void> {
  const asked = readCrowd(options)
  checkReportPath(options.report)
  const fault = readFault(options)
  const cluster = readCluster(options)
  const line = createProgressLine(process.stderr, systemClock)
  const stopping = new AbortController()
  let lastMessage: string | undefined
  // The throwaway server ends with this process. A sale on another server does not.
  const leave = () => {
    if (lastMessage !== undefined) line.print(lastMessage)
    process.exit(INTERRUPTED)
  }
  const interrupt = createInterrupt(systemClock, () => stopping.abort(), leave)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, interrupt)
  const { server, kind, stop } = await findServer(options, cluster, stopping.signal, line.print)
  let result: Rehearsal
  try {
    line.print(`seed ${asked.seed}: ${whole(asked.buyers)} buyers, ${whole(asked.units)} units`)
    const setLastMessage = (text: string | undefined) => {
      lastMessage = text
    }
    result = await rehearse(
      { ...asked, server, kind, noConstant: !options.constant, ...(fault !== undefined && { fault }) },
      { clock: systemClock, stop: stopping.signal, watch: line.show, print: line.print, setLastMessage, startConstant },
    )
  } finally {
    line.end()
    await stop()
  }
  await report(options, result)
}

/** The verdict comes first: a report that can't be written must not take it away. */
async function report(options: RehearseOptions, result: Rehearsal): Promise<void> {
  let path: string | null = null
  let notWritten: unknown
  try {
    path = writeReport(options.report, result)
  } catch (error) {
    notWritten = error
  }
  const green = result.verdict === 'green'
  if (options.json) await printJson({ ...result, report: path })
  else await print(`${green ? 'GREEN' : 'RED'}: ${result.sentence}${path === null ? '' : `\nreport: ${path}`}`)
  if (notWritten !== undefined && !(notWritten instanceof Fault)) throw notWritten
  if (green && notWritten === undefined) return
  const why = green ? [] : [`the rehearsal failed: ${result.partial ?? `${result.reasons.length} things are wrong`}`]
  const where = path === null ? (notWritten as Fault).message : `what there is, is in ${path}`
  throw new Fault(green ? 'report_not_written' : 'rehearsal_red', [...why, where].join('; '))
}

/** The server of the rehearsal. `stop` removes everything that was started for it. */
async function findServer(
  options: RehearseOptions,
  cluster: Cluster | undefined,
  stop: AbortSignal,
  print: (line: string) => void,
) {
  const against = options.against ?? cluster?.url
  if (against === undefined) {
    print('starting a throwaway server')
    const discardData = (dataDir: string) => discardDataDir(dataDir, systemClock)
    const server = await startThrowawayServer(ownCommand(SERVER_COMMAND), discardData, systemClock, systemRandom, stop)
    return { server, kind: 'throwaway' as const, stop: () => server.stop() }
  }
  const base = parseAgainst(against)
  const environment = readCliEnvironment()
  const known = options.token ?? cluster?.adminToken ?? environment.token
  const token = known ?? keptToken(base, environment.dataDir)
  if (token === undefined)
    throw new ConfigError('--against needs the operator token: pass --token, or set STAMPEDE_TOKEN')
  const buyerSecret = options.buyerSecret ?? cluster?.buyerSecret
  const url = base.origin + base.pathname.replace(/\/+$/, '')
  const server = { url, token, ...(buyerSecret !== undefined && { buyerSecret }) }
  return { server, kind: 'running' as const, stop: async () => {} }
}

/** This very program, with another command. */
function ownCommand(name: string): ServerCommand {
  return [process.execPath, resolve(process.argv[1] ?? ''), name]
}

function startConstant(stop: AbortSignal) {
  const command = ownCommand(CONSTANT_COMMAND)
  return startChildServer({ name: 'constant server', command, folder: tmpdir(), task: {}, clock: systemClock, stop })
}

/** The cluster on this machine, from its file; undefined when the options name none. */
function readCluster(options: RehearseOptions): Cluster | undefined {
  if (options.fault === undefined && options.cluster === undefined) return undefined
  const path = options.cluster ?? CLUSTER_FILE
  const cluster = orUsage('--cluster', () => readClusterFile(path))
  // The file's secrets are for its own cluster, and killing a part of one cluster proves nothing about another.
  const hosts = [cluster.url, options.against ?? cluster.url].map(url => parseAgainst(url).hostname)
  if (hosts[0] !== hosts[1])
    throw new ConfigError(`--against ${options.against} is not the cluster of ${path}, which is ${cluster.url}`)
  return cluster
}

function readFault(options: RehearseOptions): FaultPlan | undefined {
  if (options.fault === undefined) return undefined
  const role = FAULTS.find(one => one === options.fault)
  if (role === undefined) throw new ConfigError(`--fault: "${options.fault}" is none of ${FAULTS.join(', ')}`)
  const path = options.cluster ?? CLUSTER_FILE
  // Fails before the first buyer comes, not in the middle of the run.
  orUsage('--fault', () => signalPart(0, path, role))
  const shards = (item: string) => shardIdsOf(item, shardsFor(options.units, options.shards))
  return { role, kill: item => signalPart('SIGKILL', path, role, shards(item).map(slotOf)) }
}

function parseAgainst(url: string): URL {
  return orUsage('--against', () => parseServer(url))
}

function showMix(): string {
  return Object.entries(DEFAULT_MIX)
    .map(([name, share]) => `${name}=${share * 100}`)
    .join(',')
}
