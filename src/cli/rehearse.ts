/**
 * `stampede rehearse`: a whole sale with a crowd that never existed, on a throwaway server or against a running one, and a verdict.
 * Exit code 0 when every promise was kept, 1 when not or when it could not be found out, 2 when it was asked for in a way that can't work.
 */

import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { ConfigError, readCliEnvironment, readConfig } from '../app/config.ts'
import { serve } from '../app/lifecycle.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { systemRandom } from '../base/random.ts'
import { slotOf } from '../base/redis/slots.ts'
import { SHARDS_MAX } from '../domain/item.ts'
import { shardsFor } from '../domain/shards.ts'
import { placesOf } from '../gate/places.ts'
import { type Cluster, readClusterFile } from '../rehearsal/cluster-file.ts'
import type { FaultPlan } from '../rehearsal/mid-run-fault.ts'
import { DEFAULT_MIX, parseMix } from '../rehearsal/mix.ts'
import type { RehearsalOptions } from '../rehearsal/rehearsal-options.ts'
import { rehearse } from '../rehearsal/rehearse.ts'
import { renderReport } from '../rehearsal/report/report.ts'
import type { Rehearsal } from '../rehearsal/result.ts'
import type { Shape } from '../rehearsal/shape.ts'
import { startThrowawayServer } from '../rehearsal/throwaway-server.ts'
import { chooseVictim, FAULTS, killVictim } from '../rehearsal/victim.ts'
import { wholeNumber } from './number.ts'
import { createProgressLine } from './progress-line.ts'
import { print, printJson } from './table.ts'

interface Options {
  readonly buyers?: number
  readonly units: number
  readonly shards: number
  readonly within: string
  readonly shape: string
  readonly rate?: number
  readonly replay?: string
  readonly mix?: string
  readonly connections?: number
  readonly seed?: number
  readonly against?: string
  readonly token?: string
  readonly buyerSecret?: string
  readonly fault?: string
  readonly cluster?: string
  readonly report?: string
  readonly json?: boolean
}

const INTERRUPTED = 130
const SERVER_COMMAND = 'rehearse-server'
const BUYERS = 10_000
const BUYERS_MAX = 1_000_000
const CONNECTIONS_MIN = 256
const CONNECTIONS_MAX = 10_000
const BUYERS_PER_CONNECTION = 25
const CLUSTER_FILE = './data/cluster/cluster.json'
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000 } as const

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
      'places of the gate that the units are spread over, in a cluster',
      wholeNumber('--shards'),
      1,
    )
    .option('--within <time>', 'the time in which all of them click: 500ms, 1s, 2m', '1s')
    .option('--shape <shape>', 'spike at the opening, ramp, or poisson (with --rate)', 'spike')
    .option('--rate <n>', 'clicks a second on average, as a Poisson stream', wholeNumber('--rate'))
    .option('--replay <file>', 'click when these did: milliseconds from the opening, one a line')
    .option('--mix <shares>', `percent, like early=10,bots=0 (default: ${showMix()})`)
    .option('--connections <n>', `keep-alive connections, up to ${CONNECTIONS_MAX}`, wholeNumber('--connections'))
    .option('--seed <n>', 'the same seed is the same crowd', wholeNumber('--seed'))
    .option('--against <url>', 'a running server instead of a throwaway one; the sale is its own and marked REHEARSAL')
    .option('--token <token>', 'operator token, with --against (default: STAMPEDE_TOKEN or ADMIN_TOKEN)')
    .option('--buyer-secret <secret>', 'with --against: sign buyers as the shop does, instead of guest sign-in')
    .option('--fault <part>', `kill a part of the cluster in the middle of the run: ${FAULTS.join(', ')}`)
    .option(
      '--cluster <file>',
      `the cluster on this machine, as its supervisor describes it (default: ${CLUSTER_FILE})`,
    )
    .option('--report <file>', 'where the report goes (default: rehearsal-TIME.html here)')
    .option('--json', 'for machines')
    .action(run)
  program
    .command(SERVER_COMMAND, { hidden: true })
    .description('the throwaway server of a rehearsal: settings on standard input, ends with it')
    .action(serveRehearsal)
}

async function run(options: Options): Promise<void> {
  const asked = read(options)
  const fault = readFault(options)
  const cluster = readCluster(options)
  const stopping = new AbortController()
  // The second time is an impatient one. The throwaway server ends with us, however we end.
  const interrupt = () => (stopping.signal.aborted ? process.exit(INTERRUPTED) : stopping.abort())
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, interrupt)
  const line = createProgressLine(process.stderr, systemClock)
  const { place, kind, stop } = await takePlace(options, cluster, stopping.signal, line.say)
  let result: Rehearsal
  try {
    line.say(
      `seed ${asked.seed}: ${asked.buyers.toLocaleString('en-GB')} buyers, ${asked.units.toLocaleString('en-GB')} units`,
    )
    result = await rehearse(
      { ...asked, place, kind, ...(fault !== undefined && { fault }) },
      { clock: systemClock, stop: stopping.signal, watch: line.show, say: line.say },
    )
  } finally {
    line.end()
    await stop()
  }
  const path = writeReport(options.report, result)
  if (options.json) await printJson({ ...result, report: path })
  else await print(`${result.verdict === 'green' ? 'GREEN' : 'RED'}: ${result.sentence}\nreport: ${path}`)
  if (result.verdict === 'green') return
  const why = result.partial ?? `${result.reasons.length} things are wrong`
  throw new Fault('rehearsal_red', `the rehearsal failed: ${why}; what there is, is in ${path}`)
}

/** Where it is played. `stop` leaves nothing of ours behind. */
async function takePlace(
  options: Options,
  cluster: Cluster | undefined,
  stop: AbortSignal,
  say: (line: string) => void,
) {
  const against = options.against ?? cluster?.url
  if (against === undefined) {
    say('starting a throwaway server')
    const command = [process.execPath, resolve(process.argv[1] ?? ''), SERVER_COMMAND] as const
    const server = await startThrowawayServer([...command], systemClock, systemRandom, stop)
    return { place: server, kind: 'throwaway' as const, stop: () => server.stop() }
  }
  const token = options.token ?? cluster?.adminToken ?? readCliEnvironment().token
  if (token === undefined)
    throw new ConfigError('--against needs the operator token: pass --token, or set STAMPEDE_TOKEN')
  const buyerSecret = options.buyerSecret ?? cluster?.buyerSecret
  const place = { url: parseUrl(against), token, ...(buyerSecret !== undefined && { buyerSecret }) }
  return { place, kind: 'running' as const, stop: async () => {} }
}

/** What the cluster on this machine says of itself; undefined when none is meant. */
function readCluster(options: Options): Cluster | undefined {
  if (options.fault === undefined && options.cluster === undefined) return undefined
  const path = options.cluster ?? CLUSTER_FILE
  const cluster = orUsage('--cluster', () => readClusterFile(path))
  // Its secrets are for its own eyes only, and killing a part of one cluster proves nothing about another.
  const hosts = [cluster.url, options.against ?? cluster.url].map(url => new URL(parseUrl(url)).hostname)
  if (hosts[0] !== hosts[1])
    throw new ConfigError(`--against ${options.against} is not the cluster of ${path}, which is ${cluster.url}`)
  return cluster
}

function readFault(options: Options): FaultPlan | undefined {
  if (options.fault === undefined) return undefined
  const role = FAULTS.find(one => one === options.fault)
  if (role === undefined) throw new ConfigError(`--fault: "${options.fault}" is none of ${FAULTS.join(', ')}`)
  const path = options.cluster ?? CLUSTER_FILE
  // Better to say so before the first buyer than in the middle.
  orUsage('--fault', () => chooseVictim(path, role))
  const places = (item: string) => placesOf(item, shardsFor(options.units, options.shards))
  return { role, strike: item => killVictim(path, role, places(item).map(slotOf)) }
}

function orUsage<T>(option: string, fn: () => T): T {
  try {
    return fn()
  } catch (error) {
    throw new ConfigError(`${option}: ${error instanceof Error ? error.message : error}`)
  }
}

function read(options: Options): Omit<RehearsalOptions, 'place' | 'kind' | 'fault'> {
  const shape = readShape(options)
  const buyers = options.buyers ?? (shape.kind === 'replay' ? shape.offsetsMs.length : BUYERS)
  between('--buyers', buyers, 1, BUYERS_MAX)
  between('--units', options.units, 1, BUYERS_MAX)
  between('--shards', options.shards, 1, SHARDS_MAX)
  const fitting = Math.min(
    CONNECTIONS_MAX,
    buyers,
    Math.max(CONNECTIONS_MIN, Math.ceil(buyers / BUYERS_PER_CONNECTION)),
  )
  const connections = options.connections ?? fitting
  between('--connections', connections, 1, CONNECTIONS_MAX)
  const seed = options.seed ?? Math.floor(systemRandom.next() * 2 ** 31)
  try {
    const mix = options.mix === undefined ? DEFAULT_MIX : parseMix(options.mix)
    return { buyers, units: options.units, shards: options.shards, shape, mix, seed, connections }
  } catch (error) {
    throw new ConfigError(`--mix: ${error instanceof Error ? error.message : error}`)
  }
}

function readShape(options: Options): Shape {
  if (options.replay !== undefined) return { kind: 'replay', offsetsMs: readOffsets(options.replay) }
  if (options.rate !== undefined || options.shape === 'poisson') {
    if (options.rate === undefined) throw new ConfigError('--shape poisson needs --rate')
    between('--rate', options.rate, 1, 1_000_000)
    return { kind: 'poisson', perSecond: options.rate }
  }
  if (options.shape !== 'spike' && options.shape !== 'ramp')
    throw new ConfigError(`--shape: "${options.shape}" is none of spike, ramp, poisson`)
  const match = /^(\d{1,6})(ms|s|m)$/.exec(options.within)
  if (match === null) throw new ConfigError(`--within: "${options.within}" is not a time like 500ms, 1s or 2m`)
  return { kind: options.shape, withinMs: Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] }
}

function readOffsets(path: string): number[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError(`--replay: ${path} can not be read`)
  }
  const offsets: number[] = []
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const ms = Number(line)
    if (!Number.isFinite(ms) || ms < 0)
      throw new ConfigError(`--replay: line ${i + 1} of ${path} is not a time in milliseconds`)
    offsets.push(ms)
  }
  if (offsets.length === 0) throw new ConfigError(`--replay: there is no time in ${path}`)
  return offsets
}

function between(option: string, value: number, min: number, max: number): void {
  if (value < min || value > max) throw new ConfigError(`${option} must lie between ${min} and ${max}`)
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ConfigError(`--against: "${text}" is not the address of a server; it looks like http://127.0.0.1:8080`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function writeReport(wished: string | undefined, result: Rehearsal): string {
  const html = renderReport(result)
  const name = `rehearsal-${result.startedAt.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}.html`
  const path = wished ?? (isWritable(process.cwd()) ? resolve(name) : join(tmpdir(), name))
  try {
    writeFileSync(path, html)
  } catch (error) {
    throw new Fault('report_not_written', `the report could not be written to ${path}: ${(error as Error).message}`)
  }
  return path
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function showMix(): string {
  return Object.entries(DEFAULT_MIX)
    .map(([name, share]) => `${name}=${share * 100}`)
    .join(',')
}

/** Ends with its standard input: whoever started it may die in any way, and nothing of this stays behind. */
async function serveRehearsal(): Promise<void> {
  const stopping = new AbortController()
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => stopping.abort())
  const lines = createInterface({ input: process.stdin })
  const first = Promise.withResolvers<string>()
  lines.once('line', first.resolve)
  lines.once('close', () => {
    first.reject(new Fault('no_settings', 'a rehearsal’s server gets its settings on standard input'))
    stopping.abort()
  })
  const { folder, settings } = JSON.parse(await first.promise) as { folder: string; settings: Record<string, string> }
  try {
    await serve(readConfig(settings), text => process.stdout.write(`${text}\n`), stopping.signal)
  } finally {
    process.chdir(tmpdir())
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}
