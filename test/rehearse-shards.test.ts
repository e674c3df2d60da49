/** `stampede rehearse --shards`, where it can't do anything. Where it can: `cluster/rehearsal-wide.test.ts`. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { rehearsing } from './harness/rehearsing.ts'

setDefaultTimeout(300_000)

const CROWD = ['--buyers', '200', '--units', '100', '--connections', '50']
const { folder, run } = rehearsing()

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

test('one process has one shard: green all the same, and a note says that nothing was spread', async () => {
  const { code, out, err } = await run([...CROWD, '--shards', '8', '--json', '--report', 'r.html'])
  expect({ code, words: code === 0 ? '' : err }).toEqual({ code: 0, words: '' })
  const { verdict, settings, notes, books } = JSON.parse(out) as Rehearsal
  expect({ verdict, shards: settings.shards, sold: books?.sold }).toEqual({ verdict: 'green', shards: 8, sold: 100 })
  const said = '8 shards change nothing here: one process has one shard for all units.'
  expect(notes).toContain(said)
  expect(err.split('\n')).toContain(said)
  const html = readFileSync(join(folder(), 'r.html'), 'utf8')
  expect(html).toContain('<th scope="row">shards</th><td>8</td>')
  expect(html).toContain(said)
})
