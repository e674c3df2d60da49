/** `stampede rehearse --line`: a made-up crowd joins a waiting line, is let in and buys, and the same verdict is given on it. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { rehearsing } from './harness/rehearsing.ts'

setDefaultTimeout(300_000)

const { folder, run } = rehearsing()

test('a line of 200 sells every unit once, tells everyone, and the report shows joins, letting in and waits', async () => {
  const args = ['--line', 'auto', '--buyers', '200', '--units', '20', '--seed', '7', '--json', '--report', 'r.html']
  const { code, out, last } = await run([...args, '--mix', 'pay=50,cancel=0'])
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const result = JSON.parse(out) as Rehearsal
  expect(result).toMatchObject({ verdict: 'green', reasons: [], unexpected: {}, constant: null })
  expect(result.books).toMatchObject({ units: 20, sold: 20, available: 0, consistent: true })
  expect(result.buyers).toMatchObject({ all: 200, answered: 200, unanswered: 0 })
  const { line, funnel } = result
  expect(line?.joins).toBe(200)
  expect(line?.letIn).toBeGreaterThanOrEqual(20)
  expect(line?.wait.count).toBeGreaterThanOrEqual(20)
  expect(funnel[0]).toEqual({ name: 'joined the line', count: line!.joins })
  const html = readFileSync(join(folder(), 'r.html'), 'utf8')
  for (const name of ['joined the line', 'let in', 'wait in line']) expect(html).toContain(`>${name}</th>`)
  console.log(`  ${result.sentence}; let in ${line!.letIn}, ${line!.letInPerSecond} a second`)
})

test('a rate that is none, and a line with a killed part, are refused before anything begins', async () => {
  const wrong = await run(['--line', 'fast'])
  expect([wrong.code, wrong.last]).toEqual([2, expect.stringContaining('--line: "fast" is neither auto nor a number')])
  expect((await run(['--line', 'auto', '--fault', 'redis'])).code).toBe(2)
})
