import { afterEach, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { until } from './harness/until.ts'

const ROOT = resolve(import.meta.dirname, '..')
const playground = new Playground()
afterEach(() => playground.undo())

/** Speed does not count: on a busy machine all of it takes several times as long as on an idle one. */
function bench(...args: string[]) {
  return spawnSync(process.execPath, ['bench/main.ts', ...args], { cwd: ROOT, encoding: 'utf8', timeout: 600_000 })
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'stampede-test-bench-'))
  playground.onUndo(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('every case and survey of the bench runs for a blink: a table, a report, no promise broken; speed does not count', () => {
  const out = folder()
  const run = bench('--all', '--rounds', '1', '--seconds', '0.1', '--out', out)
  expect({ status: run.status, failed: run.stdout.match(/^FAILED .*$/gm), stderr: run.stderr }).toEqual({
    status: 0,
    failed: null,
    stderr: '',
  })
  const [json = '', page = ''] = ['.json', '.html'].map(end => readdirSync(out).find(name => name.endsWith(end)) ?? '')
  const report = JSON.parse(readFileSync(join(out, json), 'utf8'))
  const cases: { name: string; standings: { name: string; oversold?: number; ratio?: { median: number } }[] }[] =
    report.cases
  expect(cases.map(one => one.name).filter(name => !run.stdout.includes(`\n${name}  `))).toEqual([])
  expect(cases.flatMap(one => one.standings.slice(1)).every(one => (one.ratio?.median ?? 0) > 0)).toBe(true)
  const placed = cases.filter(one => /^placed, [0-9]+ connections/.test(one.name))
  expect(placed.map(one => one.standings.map(({ name, oversold }) => `${name} ${oversold}`))).toEqual(
    placed.map(() => ['stampede 0', 'pessimistic 0', 'optimistic 0', 'guarded 0']),
  )
  expect(placed).toHaveLength(4)
  const redis = cases.filter(one => one.name.includes('redis'))
  expect(redis.map(one => one.standings.map(({ name }) => name))).toEqual([
    ...Array.from({ length: 4 }, () => ['batches', 'one by one', 'bare']),
    ['on redis', 'behind the ledger', 'in the process'],
    ['9 places', 'one place'],
  ])
  expect(report.surveys.map((one: { name: string }) => one.name)).toEqual([
    'memory',
    'growth over items',
    'growth over buyers',
  ])
  expect(readFileSync(join(out, page), 'utf8')).toContain('<svg')

  const same = bench('compare', join(out, json), join(out, json))
  expect([same.status, same.stderr]).toEqual([0, ''])
  expect(same.stdout.split('\n').length).toBeGreaterThan(20)
  expect(same.stdout.match(/ [0-9.]+$/gm)?.every(ratio => ratio.trim() === '1.000')).toBe(true)
}, 780_000)

test('for machines, standard output is the report and nothing else', () => {
  const run = bench('sold-out', '--json', '--rounds', '1', '--seconds', '0.1', '--out', folder())
  expect(run.status, run.stderr).toBe(0)
  expect(JSON.parse(run.stdout).cases.map((one: { name: string }) => one.name)).toContain('sold-out')
}, 180_000)

test('the bench refuses what it does not know in one line', () => {
  for (const name of [['--only', 'no such case'], ['no such case']]) {
    const unknown = bench(...name)
    expect([unknown.status, unknown.stderr]).toEqual([1, 'bench: no case has "no such case" in its name\n'])
  }
  expect(bench('--rounds', '0').status).not.toBe(0)
})

test('interrupted, it leaves nothing running and nothing behind', async () => {
  const place = folder()
  chmodSync(place, 0o755)
  const child = spawn(process.execPath, ['bench/main.ts', '--only', 'sold-out', '--rounds', '1000', '--out', place], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: place },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  playground.onUndo(() => void child.kill('SIGKILL'))
  const heard = listenTo(child)
  await until('it measures', () => heard.out().includes('round 1 of'), 60_000)
  expect(runningIn(place)).not.toEqual([])
  child.kill('SIGTERM')
  const { code, err } = await heard.ran
  expect({ code, err }).toEqual({ code: 143, err: 'bench: interrupted; nothing was written\n' })
  expect(readdirSync(place)).toEqual([])
  expect(runningIn(place)).toEqual([])
}, 180_000)

/** Processes that were told of a folder, by their command line or environment. */
function runningIn(place: string): string[] {
  return readdirSync('/proc').filter(pid => {
    try {
      return (
        /^[0-9]+$/.test(pid) &&
        Number(pid) !== process.pid &&
        ['cmdline', 'environ'].some(file => readFileSync(join('/proc', pid, file), 'latin1').includes(place))
      )
    } catch {
      return false
    }
  })
}
