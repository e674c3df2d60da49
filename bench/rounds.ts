/**
 * Runs a case: a warm-up, then rounds in which subject and references alternate, so that other load on the machine affects all of them
 * alike. Ratios are taken within a round; the median over the rounds is reported, with the lowest and highest.
 */

import { Histogram } from '../src/rehearsal/client/histogram.ts'
import type { Aim, BenchCase, Contestant, PreparedCase, Stage } from './bench-case.ts'
import { cpuMicros } from './cores.ts'

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

interface Standing {
  readonly name: string
  readonly perSecond: Spread
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time per request, in µs. */
  readonly serverCpu?: Spread
  readonly postgresCpu?: Spread
  readonly oversold?: number
  /** The subject's requests per second over this reference's; its p99 and its CPU time over the subject's. Only on references. */
  readonly ratio?: Spread
  readonly p99Ratio?: Spread
  readonly cpuRatio?: Spread
  readonly aim?: Aim
}

export interface CaseResult {
  readonly name: string
  readonly what: string
  readonly standings: readonly Standing[]
  readonly settings: Readonly<Record<string, unknown>>
  readonly violations: readonly string[]
}

interface Rounds {
  readonly rounds: number
  readonly roundMs: number
  readonly warmUpMs: number
}

export interface Sample {
  readonly perSecond: number
  readonly p99Ms: number
  readonly serverCpu: number | undefined
  readonly postgresCpu: number | undefined
}

export async function runCase(
  one: BenchCase,
  stage: Stage,
  plan: Rounds,
  print: (line: string) => void,
): Promise<CaseResult> {
  const prepared = await one.prepare(stage)
  try {
    return await runRounds(one, prepared, plan, print)
  } finally {
    await prepared.close()
  }
}

async function runRounds(one: BenchCase, prepared: PreparedCase, plan: Rounds, print: (line: string) => void) {
  const contestants = [prepared.subject, ...prepared.references]
  const samples = contestants.map(() => [] as Sample[])
  const latencies = contestants.map(() => new Histogram())
  for (const contestant of contestants) await (await contestant.prepare(plan.warmUpMs))()
  for (let round = 1; round <= plan.rounds; round++) {
    for (const [i, contestant] of contestants.entries())
      samples[i]!.push(await measure(contestant, plan.roundMs, latencies[i]!))
    const figures = samples.map((list, i) => `${contestants[i]!.name} ${Math.round(list.at(-1)!.perSecond)}/s`)
    print(`${one.name}, round ${round} of ${plan.rounds}: ${figures.join(', ')}`)
  }
  const { violations, oversold } = await prepared.check()
  const [subject] = samples
  const standings = contestants.map(({ name }, i): Standing => {
    const list = samples[i]!
    const serverCpu = spread(list.map(sample => sample.serverCpu))
    const postgresCpu = spread(list.map(sample => sample.postgresCpu))
    const beside = (of: (own: Sample, reference: Sample) => number) =>
      i === 0 ? undefined : spread(list.map((sample, k) => of(subject![k]!, sample)))
    const ratio = beside((own, reference) => own.perSecond / reference.perSecond)
    const p99Ratio = beside((own, reference) => reference.p99Ms / own.p99Ms)
    const cpuRatio = beside((own, reference) => cpuOf(reference) / cpuOf(own))
    const aim = one.aims[name]
    const sold = oversold?.get(name)
    return {
      name,
      perSecond: spread(list.map(sample => sample.perSecond))!,
      p50Ms: latencies[i]!.quantile(0.5),
      p99Ms: latencies[i]!.quantile(0.99),
      ...(serverCpu && { serverCpu }),
      ...(postgresCpu && { postgresCpu }),
      ...(sold !== undefined && { oversold: sold }),
      ...(ratio && { ratio }),
      ...(p99Ratio && { p99Ratio }),
      ...(cpuRatio && { cpuRatio }),
      ...(aim !== undefined && { aim }),
    }
  })
  return { name: one.name, what: one.what, standings, settings: prepared.settings, violations }
}

export async function measure(contestant: Contestant, forMs: number, latency = new Histogram()): Promise<Sample> {
  const load = await contestant.prepare(forMs)
  const { serverPid, serverHasWorkers = false, besidePids = [], postgresPid } = contestant
  const cpu = () => ({
    server: sum([cpuMicros(serverPid, serverHasWorkers), ...besidePids.map(pid => cpuMicros(pid, false))]),
    postgres: postgresPid === undefined ? undefined : cpuMicros(postgresPid, true),
  })
  const before = cpu()
  const result = await load()
  const after = cpu()
  latency.merge(result.latency)
  const per = (from: number | undefined, to: number | undefined) =>
    from === undefined || to === undefined ? undefined : (to - from) / Math.max(1, result.answers)
  return {
    perSecond: result.perSecond,
    p99Ms: result.latency.quantile(0.99),
    serverCpu: per(before.server, after.server),
    postgresCpu: per(before.postgres, after.postgres),
  }
}

/** Undefined when one of them is. */
function sum(all: readonly (number | undefined)[]): number | undefined {
  return all.reduce((one, other) => (one === undefined || other === undefined ? undefined : one + other), 0)
}

function cpuOf(sample: Sample): number {
  return sample.serverCpu === undefined ? Number.NaN : sample.serverCpu + (sample.postgresCpu ?? 0)
}

function spread(values: readonly (number | undefined)[]): Spread | undefined {
  const sorted = values
    .filter(value => value !== undefined && Number.isFinite(value))
    .sort((a, b) => a! - b!) as number[]
  if (sorted.length === 0) return undefined
  const middle = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, low: sorted[0]!, high: sorted.at(-1)! }
}
