import { expect, setDefaultTimeout, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { QUEUE_MAX } from '../src/app/selling.ts'
import { PROGRAM } from './harness/program.ts'

/** Processes are started one after the other, by the dozen: on a busy machine that takes its time, and is no fault. */
setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '..')

/** With nothing in the environment: a plan is for a machine that is not there yet. */
function plan(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'doctor', '--plan', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, PORT: 'a setting that no server would start with' },
  })
  return { code: status, out: stdout, err: stderr }
}

/** Median per second of a row in the tables of docs/performance.md. */
function measured(row: string, who = 'stampede'): number {
  const form = new RegExp(`^${row} +${who} +(\\d+) \\[`, 'm')
  return Number(form.exec(readFileSync(join(ROOT, 'docs/performance.md'), 'utf8'))?.[1])
}

test('a crowd that one process answers in time gets one process, with what it survives and how to try it', () => {
  const { code, out, err } = plan('1000', '100000')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^sale +100,000 buyers for 1,000 units: 1,000 orders, 99,000 refusals$/m)
  expect(out).toMatch(/^run +one process/m)
  expect(out).toMatch(/^survives +the death of the process/m)
  expect(out).toMatch(/^instead .* 2 edges, 2 workers, 2 keepers/m)
  expect(out).toContain('stampede rehearse --units 1000 --buyers 100000 --within 1s')
  expect(out).toContain(`${QUEUE_MAX.toLocaleString('en-US')} clicks wait`)
  expect(out.split('\n').length).toBeLessThanOrEqual(10)
})

test('a larger crowd gets a cluster, more edges the larger it is, and hears that one Redis is enough', () => {
  const edges = (units: string, buyers: string) => {
    const { way, edges } = JSON.parse(plan(units, buyers, '--json').out) as { way: string; edges: number }
    expect(way).toBe('many machines around one Redis')
    return edges
  }
  const some = edges('1000', '500000')
  expect(some).toBeGreaterThanOrEqual(2)
  expect(edges('1000', '5000000')).toBeGreaterThan(some)
  // Orders cost more than refusals.
  expect(edges('100000', '500000')).toBeGreaterThan(some)
  const { out } = plan('1000', '500000')
  expect(out).toMatch(/^run +\d+ edges, 2 workers, 2 keepers/m)
  expect(out).toMatch(/^redis +one is enough: /m)
})

test('more who win than one Redis reserves in time: a Redis Cluster, and an item with shards', () => {
  const { way, primaries, shards } = JSON.parse(plan('5000000', '9000000', '--json').out) as Record<string, unknown>
  expect(way).toBe('sharded over a Redis Cluster')
  expect(Number(primaries)).toBeGreaterThanOrEqual(3)
  expect(Number(shards)).toBeGreaterThan(Number(primaries))
  expect(Number(shards)).toBeLessThanOrEqual(64)
  expect(plan('5000000', '9000000').out).toMatch(/^run .*"shards": \d+, one PostgreSQL$/m)
  expect(JSON.parse(plan('1000', '5000000', '--json').out)).toMatchObject({ primaries: 1, shards: 1 })
})

test('the line for shards is where docs/choosing.md draws it', () => {
  const choosing = readFileSync(join(ROOT, 'docs/choosing.md'), 'utf8')
  const line = Number(/reserves in three seconds \(([\d,]+)\)/.exec(choosing)?.[1]?.replaceAll(',', ''))
  expect(line).toBe(3 * measured('redis gate, batches of 128, appendfsync always', 'batches'))
  const wayOf = (units: number) => (JSON.parse(plan(`${units}`, '9000000', '--json').out) as { way: string }).way
  expect(wayOf(line)).toBe('many machines around one Redis')
  expect(wayOf(line + 1)).toBe('sharded over a Redis Cluster')
})

test('where nobody is refused, the ledger alone will do', () => {
  expect(plan('500', '200').out).toMatch(/^ledger /m)
  expect(plan('500', '501').out).not.toMatch(/^ledger /m)
})

test('it reckons with the figures that docs/performance.md has, and with no others', () => {
  const refused = measured('sold-out')
  const placed = measured('placed, 64 connections, PostgreSQL on the server core')
  const reserved = measured('redis gate, batches of 128, appendfsync always', 'batches')
  const { out } = plan('1', '1')
  expect(out).toContain(
    `${refused.toLocaleString('en-US')} refusals or ${placed.toLocaleString('en-US')} orders a second`,
  )
  const choosing = readFileSync(join(ROOT, 'docs/choosing.md'), 'utf8')
  for (const figure of [refused, placed, reserved]) expect(choosing).toContain(figure.toLocaleString('en-US'))
  expect(plan('1000', '500000').out).toContain(`${reserved.toLocaleString('en-US')} a second in batches`)
  const { oneProcessSeconds } = JSON.parse(plan('1000000', '3000000', '--json').out) as { oneProcessSeconds: number }
  expect(oneProcessSeconds).toBeCloseTo(1_000_000 / placed + 2_000_000 / refused, 0)
})

test('what is no plan is refused in one line', () => {
  for (const [args, words] of [
    [['1000'], 'give the number of units and of buyers'],
    [['1', '2', '3'], 'give the number of units and of buyers'],
    [['many', '2'], '"many" is not a whole number'],
    [['0', '2'], 'must lie between 1'],
    [['1', '9999999999'], 'must lie between 1'],
  ] as const) {
    const { code, out, err } = plan(...args)
    expect({ code, out, lines: err.split('\n').length }).toEqual({ code: 2, out: '', lines: 2 })
    expect(err).toContain(words)
  }
})
