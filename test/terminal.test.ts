/** `npm start` at a terminal, a real pseudo-terminal: one screen for a newcomer, and Ctrl-C. In a pipe the same program writes JSON lines. */

import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { until } from './harness/until.ts'

const SCREEN_LINES = 24
const playground = new Playground()
afterEach(() => playground.undo())

test('what a newcomer sees fits on one screen; Ctrl-C stops it', async () => {
  const command = `exec ${process.execPath} ${PROGRAM} serve --port 0`
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', DATA_DIR: playground.dataDir() },
  })
  playground.onUndo(() => child.kill('SIGKILL'))
  let seen = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (seen += chunk))
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve))

  const url = await until('the line that says it is ready', () => /^stampede ready on (\S+)\r$/m.exec(seen)?.[1])
  const lines = seen.replaceAll('\r', '').split('\n')
  expect(lines.length).toBeLessThanOrEqual(SCREEN_LINES)
  const screen = lines.join('\n')
  expect(screen).toMatch(/^ {2}Stampede \d+\.\d+\.\d+$/m)
  expect(screen).toContain(`Shop       ${url}\n`)
  expect(screen).toMatch(/Operators {2}http:\S+\/ops {3}the operator token is in .*admin-token$/m)
  expect(screen).toMatch(/On sale {4}Demo sale: 100 units, opens in \d+ s$/m)
  expect(screen).toContain('Guest sign-in is on')
  expect(screen).not.toContain('{"level"')
  expect(await fetch(`${url}/livez`).then(answer => answer.status)).toBe(200)

  child.stdin.write('\x03')
  expect(await ended).toBe(0)
  expect(seen).toContain('stopped')
}, 300_000)

test('the version is that of the package, and a port that is none is refused', async () => {
  const run = (...args: string[]) => Bun.spawnSync([process.execPath, PROGRAM, ...args], { env: {} })
  const { version } = await import('../package.json')
  expect(run('--version').stdout.toString()).toBe(`${version}\n`)
  const refused = run('serve', '--port', 'http')
  expect(refused.exitCode).toBe(2)
  expect(refused.stderr.toString()).toMatch(/^stampede: PORT: .+\n$/)
})
