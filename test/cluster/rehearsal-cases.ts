/** The cluster as a person starts it, and a rehearsal against it in which one part is killed. */

import { expect } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import type { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const START_MS_MAX = 60_000
const REHEARSE_MS_MAX = 150_000
const STOP_MS_MAX = 30_000

interface Wish {
  readonly buyers: number
  readonly units: number
  readonly fault: string
}

export async function rehearseWithFault(playground: Playground, wish: Wish): Promise<{ readonly sentence: string }> {
  const data = playground.dataDir()
  const cluster = run(playground, ['cluster/main.ts', '--port', '0', '--data', data])
  await until('a cluster that is there', () => cluster.output().includes('Ctrl-C stops it.'), START_MS_MAX)
  const rehearsal = run(playground, [
    'src/main.ts',
    'rehearse',
    ...['--cluster', join(data, 'cluster.json'), '--fault', wish.fault],
    ...['--buyers', String(wish.buyers), '--units', String(wish.units), '--within', '1s'],
    ...['--report', join(data, 'report.html'), '--json'],
  ])
  const code = await within('the end of the rehearsal', REHEARSE_MS_MAX, rehearsal.ended)
  expect({ code, words: code === 0 ? '' : rehearsal.output() }).toEqual({ code: 0, words: '' })
  cluster.child.kill('SIGTERM')
  expect(await within('the end of the cluster', STOP_MS_MAX, cluster.ended)).toBe(0)
  const { sentence } = JSON.parse(rehearsal.printed()) as { sentence: string }
  return { sentence }
}

function run(playground: Playground, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  let said = ''
  child.stdout?.on('data', chunk => {
    printed += String(chunk)
  })
  child.stderr?.on('data', chunk => {
    said += String(chunk)
  })
  const ended = new Promise<number | null>(done => {
    child.once('close', done)
  })
  playground.onUndo(async () => {
    // The cluster ends its parts itself; only when it hangs is it ended without a word.
    child.kill('SIGTERM')
    await within('an orderly end', STOP_MS_MAX, ended).catch(() => child.kill('SIGKILL'))
  })
  return { child, ended, printed: () => printed, output: () => printed + said }
}
