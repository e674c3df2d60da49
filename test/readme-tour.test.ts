import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'

const ROOT = resolve(import.meta.dirname, '..')
const playground = new Playground()
afterEach(() => playground.undo())

function tour(): string {
  const readme = readFileSync(resolve(ROOT, 'README.md'), 'utf8')
  const block = /<!-- tour[^>]*-->\n```sh\n([\s\S]*?)```\n<!-- \/tour -->/.exec(readme)?.[1]
  if (block === undefined) throw new Error('the README has no tour between its markers')
  return block
}

function run(script: string, env: Record<string, string>) {
  // Run as a person would paste it, but the first command that fails ends it.
  const child = spawn('sh', ['-e', '-c', script], { cwd: ROOT, env: { PATH: process.env.PATH, ...env } })
  playground.onUndo(() => child.kill('SIGKILL'))
  return listenTo(child).ran
}

// Where there is no curl, there is no tour to take.
test.if(Bun.which('curl') !== null)(
  'the tour in the README leads from nothing to paid, exactly as printed',
  async () => {
    const script = tour()
    const commands = script.split('\n').filter(line => line.trim() !== '')
    expect(commands.length).toBeLessThanOrEqual(45)
    const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: { GUEST_SIGN_IN: 'on' } })
    const { code, out, err } = await run(script, { STAMPEDE: server.url(), ADMIN: ADMIN_TOKEN })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [published, early, again, ...rest] = out.split('\n').map(line => line.trim())
    expect([published, early, again]).toEqual(['scheduled', 'sale_not_open', 'HTTP/1.1 200 OK'])
    expect(rest.join('\n')).toContain('{"state":"captured"}')
    expect(rest.join('\n')).toMatch(/"quantity":2,"amount":\{"amount":399800,"currency":"CNY"\},"state":"paid"/)
    expect(rest.join('\n')).toMatch(/"available":98,"pending":0,"paid":2.*"consistent":true/)
  },
)

test('the tour names its server in its first line, so that it can be taken anywhere', () => {
  expect(tour().split('\n')[0]).toStartWith('STAMPEDE=')
})
