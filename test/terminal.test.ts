/** `npm start` at a terminal, a real pseudo-terminal: one screen for a newcomer, and Ctrl-C. In a pipe the same program writes JSON lines. */

import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { until } from './harness/until.ts'

const SCREEN_LINES = 24
const SCREEN_COLUMNS = 80
const playground = new Playground()
afterEach(() => playground.undo())

test('what a newcomer sees fits on one screen; Ctrl-C stops it', async () => {
  const command = `stty cols ${SCREEN_COLUMNS} rows ${SCREEN_LINES}; exec ${process.execPath} ${resolve(PROGRAM)} serve --port 0`
  const home = dirname(playground.dataDir())
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm' },
    // A folder of one's own, and nothing set: as a newcomer has it.
    cwd: home,
  })
  playground.onUndo(() => child.kill('SIGKILL'))
  let seen = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (seen += chunk))
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve))

  const url = await until('the line that says it is ready', () => /^stampede ready on (\S+)\r$/m.exec(seen)?.[1])
  const lines = seen.replaceAll('\r', '').split('\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room.
  const rows = lines.map(line => Math.max(1, Math.ceil(line.replace(/\x1b\[[0-9;]*m/g, '').length / SCREEN_COLUMNS)))
  const height = rows.reduce((sum, one) => sum + one, 0)
  console.log(`${height} of ${SCREEN_LINES} rows`)
  expect(height, seen).toBeLessThanOrEqual(SCREEN_LINES)
  expect(lines.filter((_, at) => rows[at]! > 1)).toEqual([])
  const screen = lines.join('\n')
  expect(screen).toMatch(/^ {2}Stampede \d+\.\d+\.\d+$/m)
  expect(screen).toContain(`Shop       ${url}\n`)
  expect(screen).toMatch(/Operators {2}http:\S+\/ops\n {13}the operator token is in .*admin-token$/m)
  expect(screen).toMatch(/On sale {4}Demo sale: 100 units, opens in \d+ s$/m)
  expect(screen).toMatch(/^ +Demo sale with a waiting line: 300 units, opens in \d+ s$/m)
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
  const unknown = run('serve', '--prt', '80')
  expect(unknown.exitCode).toBe(2)
  expect(unknown.stderr.toString(), 'one prefix, also for what the parser refuses').toMatch(/^stampede: unknown option/)
})
