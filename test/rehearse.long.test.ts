import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** As a person would run it who has nothing but the project. */
async function rehearse(...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-test-rehearse-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const child = spawn(process.execPath, [PROGRAM, 'rehearse', '--json', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  playground.onUndo(() => void child.kill('SIGKILL'))
  const { code, out, err } = await listenTo(child).ran
  return { code, err, told: code === 0 ? JSON.parse(out) : out, pages: readdirSync(folder) }
}

for (const connections of ['4000', '10000']) {
  test(`100,000 buyers in one second over ${connections} connections: green, and everybody is answered`, async () => {
    const { code, err, told, pages } = await rehearse(
      ...['--buyers', '100000', '--units', '1000', '--within', '1s', '--connections', connections],
    )
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
    console.log(`  ${told.sentence ?? JSON.stringify(told).slice(0, 300)}`)
    expect(told).toMatchObject({ verdict: 'green' })
    expect(pages.some(name => name.endsWith('.html'))).toBe(true)
  }, 300_000)
}

test('5,000 buyers in a waiting line: green, everybody is told, and nobody is let in before one ahead', async () => {
  const { code, err, told } = await rehearse('--line', 'auto', '--buyers', '5000', '--units', '1000', '--no-constant')
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  console.log(`  ${told.sentence}; let in ${told.line.letIn}, ${told.line.letInPerSecond} a second`)
  expect(told).toMatchObject({ verdict: 'green', unexpected: {}, buyers: { answered: 5000 } })
}, 300_000)
