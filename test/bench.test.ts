import { afterEach, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  return spawnSync(process.execPath, ['bench/main.ts', ...args], { cwd: ROOT, encoding: 'utf8', timeout: 1_500_000 })
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
  const kafka = cases.filter(one => one.name.includes('kafka'))
  expect(kafka.map(one => one.standings.map(({ name }) => name))).toEqual(
    Array.from({ length: 2 }, () => ['through kafka', 'straight']),
  )
  const backlog = report.surveys.find((one: { name: string }) => one.name === 'kafka backlog')
  const groups = new Set(backlog.figures.map(({ group }: { group: string }) => group))
  for (const group of ['through kafka: unplaced', 'through kafka: lag', 'straight: unplaced'])
    expect(groups).toContain(group)
  expect(report.surveys.map((one: { name: string }) => one.name)).toEqual([
    'challenge cost',
    'line',
    'targets',
    'memory',
    'kafka backlog',
    'growth over items',
    'growth over buyers',
  ])
  expect(readFileSync(join(out, page), 'utf8')).toContain('<svg')

  const same = bench('compare', join(out, json), join(out, json))
  expect([same.status, same.stderr]).toEqual([0, ''])
  expect(same.stdout.split('\n').length).toBeGreaterThan(20)
  expect(same.stdout.match(/ [0-9.]+$/gm)?.every(ratio => ratio.trim() === '1.000')).toBe(true)
}, 1_600_000)

test('for machines, standard output is the report and nothing else', () => {
  const run = bench('sold-out', '--json', '--rounds', '1', '--seconds', '0.1', '--out', folder())
  expect(run.status, run.stderr).toBe(0)
  expect(JSON.parse(run.stdout).cases.map((one: { name: string }) => one.name)).toContain('sold-out')
}, 300_000)

test('the bench refuses what it does not know in one line', () => {
  for (const name of [['--only', 'no such case'], ['no such case']]) {
    const unknown = bench(...name)
    expect([unknown.status, unknown.stderr]).toEqual([2, 'bench: no case has "no such case" in its name\n'])
  }
  for (const [option, value] of [
    ['--rounds', '0'],
    ['--rounds', '0.5'],
    ['--seconds', 'long'],
    ['--connections', '1.5'],
  ] as const) {
    const { status, stdout, stderr } = bench('no such case', option, value)
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^[^\\n]*${option}[^\\n]*'${value}' is invalid[^\\n]*\\n$`)),
    })
  }
}, 600_000)

test('a part of growth that does not exist, or an argument too many, is refused in one line', () => {
  const unknown = bench('growth', 'sideways')
  expect([unknown.status, unknown.stdout, unknown.stderr]).toEqual([
    2,
    '',
    'bench: growth has no part "sideways": it has orders, items, hot\n',
  ])
  const many = bench('disturbed', 'twice')
  expect({ status: many.status, stdout: many.stdout, lines: many.stderr.trim().split('\n').length }).toEqual({
    status: 2,
    stdout: '',
    lines: 1,
  })
})

test('two runs are compared for machines too', () => {
  const [a, b] = ['a', 'b'].map(name => join(folder(), `${name}.json`)) as [string, string]
  const report = (commit: string, perSecond: number) => ({
    commit,
    cases: [
      { name: 'sold-out', standings: [{ name: 'stampede', perSecond: { median: perSecond }, p50Ms: 2, p99Ms: null }] },
    ],
    surveys: [{ name: 'memory', figures: [{ group: 'idle', at: '0', unit: 'MiB', value: 50 }] }],
  })
  writeFileSync(a, JSON.stringify(report('aaa', 1000)))
  writeFileSync(b, JSON.stringify(report('bbb', 1500)))
  for (const args of [
    ['compare', a, b, '--json'],
    ['--json', 'compare', a, b],
  ]) {
    const { status, stdout, stderr } = bench(...args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual([
      { case: 'sold-out', who: 'stampede', figure: 'per second', a: 1000, b: 1500, ratio: 1.5 },
      { case: 'sold-out', who: 'stampede', figure: 'p50 ms', a: 2, b: 2, ratio: 1 },
      { case: 'memory: idle', who: '0', figure: 'MiB', a: 50, b: 50, ratio: 1 },
    ])
  }
  expect(bench('compare', a, b).stdout).toMatch(/A aaa +B bbb +B \/ A\n.*per second +1000 +1500 +1\.500\n/)
})

test('what is no report of the bench is not compared, and one line says why', () => {
  const into = folder()
  const written = (name: string, text: string) => {
    writeFileSync(join(into, name), text)
    return join(into, name)
  }
  const good = written('good', '{"commit":"aaa","cases":[]}')
  for (const [path, why] of [
    [join(into, 'missing'), 'it can not be read (ENOENT)'],
    [into, 'it can not be read (EISDIR)'],
    [written('torn', '{"commit":"aaa","cas'), 'it is not JSON'],
    [written('null', 'null'), 'commit, cases or figures are missing'],
    [written('other', '{"name":"stampede"}'), 'commit, cases or figures are missing'],
    [written('hollow', '{"commit":"aaa","cases":[{"name":"sold-out"}]}'), 'commit, cases or figures are missing'],
  ] as const) {
    for (const pair of [
      [path, good],
      [good, path],
    ]) {
      const { status, stdout, stderr } = bench('compare', ...pair)
      expect({ status, stdout, stderr }).toEqual({
        status: 1,
        stdout: '',
        stderr: `bench: ${path} is not a report of bench: ${why}\n`,
      })
    }
  }
  expect(bench('compare', good).status).toBe(2)
})

test('interrupted, it leaves nothing running and nothing behind', async () => {
  const into = folder()
  chmodSync(into, 0o755)
  const child = spawn(process.execPath, ['bench/main.ts', '--only', 'sold-out', '--rounds', '1000', '--out', into], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: into },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  playground.onUndo(() => void child.kill('SIGKILL'))
  const heard = listenTo(child)
  await until('it measures', () => heard.out().includes('round 1 of'))
  expect(runningIn(into)).not.toEqual([])
  child.kill('SIGTERM')
  const { code, err } = await heard.ran
  expect({ code, err }).toEqual({ code: 143, err: 'bench: interrupted; nothing was written\n' })
  expect(readdirSync(into)).toEqual([])
  expect(runningIn(into)).toEqual([])
}, 300_000)

/** Processes that were told of a folder, by their command line or environment. */
function runningIn(into: string): string[] {
  return readdirSync('/proc').filter(pid => {
    try {
      return (
        /^[0-9]+$/.test(pid) &&
        Number(pid) !== process.pid &&
        ['cmdline', 'environ'].some(file => readFileSync(join('/proc', pid, file), 'latin1').includes(into))
      )
    } catch {
      return false
    }
  })
}
