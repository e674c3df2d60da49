/** The cluster as a person starts it, and rehearsals against it. */

import { expect } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { type Cluster, readClusterFile } from '../../src/rehearsal/fault/cluster.ts'
import type { Rehearsal } from '../../src/rehearsal/result.ts'
import { listenTo } from '../harness/heard-out.ts'
import type { Playground } from '../harness/playground.ts'
import { PROGRAM } from '../harness/program.ts'
import { until, within } from '../harness/until.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const START_MS_MAX = 120_000
const REHEARSE_MS_MAX = 240_000
const STOP_MS_MAX = 90_000

interface Wish {
  readonly buyers: number
  readonly units: number
  readonly shards?: number
  readonly fault?: string
}

/** As `npm run cluster` does, with its data in `data`. */
export async function startCluster(playground: Playground, data: string, options: readonly string[] = []) {
  const file = join(data, 'cluster.json')
  const cluster = run(playground, ['cluster/main.ts', '--port', '0', '--data', data, ...options])
  await until(
    'a cluster that is there',
    () => {
      if (cluster.child.exitCode !== null) throw new Error(`the cluster ended:\n${cluster.output()}`)
      return cluster.output().includes('Ctrl-C stops it.')
    },
    START_MS_MAX,
  )
  return {
    /** What it says of itself now. */
    described: (): Cluster => readClusterFile(file),

    /** Green, or the test has failed. */
    async rehearse({ buyers, units, shards, fault }: Wish): Promise<Rehearsal> {
      const rehearsal = run(playground, [
        PROGRAM,
        'rehearse',
        ...['--cluster', file, ...(fault === undefined ? [] : ['--fault', fault])],
        ...['--buyers', String(buyers), '--units', String(units), '--within', '1s'],
        ...(shards === undefined ? [] : ['--shards', String(shards)]),
        ...['--report', join(data, 'report.html'), '--json', '--no-constant'],
      ])
      const code = await within('the end of the rehearsal', REHEARSE_MS_MAX, rehearsal.ended)
      expect({ code, words: code === 0 ? '' : rehearsal.output() }).toEqual({ code: 0, words: '' })
      return JSON.parse(rehearsal.printed()) as Rehearsal
    },

    async stop(): Promise<void> {
      cluster.child.kill('SIGTERM')
      expect(await within('the end of the cluster', STOP_MS_MAX, cluster.ended)).toBe(0)
    },
  }
}

export async function rehearseWithFault(playground: Playground, wish: Wish): Promise<Rehearsal> {
  const cluster = await startCluster(playground, playground.dataDir())
  const result = await cluster.rehearse(wish)
  await cluster.stop()
  return result
}

function run(playground: Playground, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [...args], {
    cwd: ROOT,
    // Two seconds of CPU time for each edge and each sale ahead.
    env: { ...process.env, WARM_CODE: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const heard = listenTo(child)
  const ended = heard.ran.then(({ code }) => code)
  playground.onUndo(async () => {
    // The cluster ends its parts itself; only when it hangs is it ended without a word.
    child.kill('SIGTERM')
    await within('an orderly end', STOP_MS_MAX, ended).catch(() => child.kill('SIGKILL'))
  })
  return { child, ended, printed: heard.out, output: () => heard.out() + heard.err() }
}
