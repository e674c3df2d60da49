/** `stampede rehearse --shards`, where it can't do anything. Where it can: `cluster/rehearsal-wide.test.ts`. */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { type HeardOut, listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'

setDefaultTimeout(120_000)

const CROWD = ['--buyers', '200', '--units', '100', '--connections', '50']
let playground: Playground
let folder: string

beforeEach(() => {
  playground = new Playground()
  folder = mkdtempSync(join(tmpdir(), 'stampede-rehearse-shards-'))
  chmodSync(folder, 0o711)
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
})
afterEach(() => playground.undo())

function run(args: readonly string[]): Promise<HeardOut> {
  const child = spawn(process.execPath, [PROGRAM, 'rehearse', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  playground.onUndo(() => void child.kill('SIGTERM'))
  return listenTo(child).ran
}

test('a number of shards that no item can have is one clear line, and nothing is begun', async () => {
  const cases: [shards: string, words: string][] = [
    ['0', '--shards must lie between 1 and 64'],
    ['65', '--shards must lie between 1 and 64'],
    ['-1', '--shards must lie between 1 and 64'],
    ['1.5', '--shards: "1.5" is not a whole number'],
    ['many', '--shards: "many" is not a whole number'],
  ]
  for (const [shards, words] of cases) {
    const { code, out, err } = await run([...CROWD, '--shards', shards])
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `stampede: ${words}\n` })
  }
})

test('one process has one place: green all the same, and it is said that nothing was spread', async () => {
  const { code, out, err } = await run([...CROWD, '--shards', '8', '--json', '--report', 'r.html'])
  expect({ code, words: code === 0 ? '' : err }).toEqual({ code: 0, words: '' })
  const { verdict, settings, notes, books } = JSON.parse(out) as Rehearsal
  expect({ verdict, shards: settings.shards, sold: books?.sold }).toEqual({ verdict: 'green', shards: 8, sold: 100 })
  const said = '8 shards change nothing here: one process has one place for all units.'
  expect(notes).toContain(said)
  expect(err.split('\n')).toContain(said)
  const html = readFileSync(join(folder, 'r.html'), 'utf8')
  expect(html).toContain('<th scope="row">shards</th><td>8</td>')
  expect(html).toContain(said)
})
