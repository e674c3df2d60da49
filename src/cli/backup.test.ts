import { afterEach, beforeEach, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { query, Scratch } from '../ledger/embedded/scratch.fixture.ts'
import { addBackup } from './backup.ts'
import { explain } from './serve.ts'

setDefaultTimeout(300_000)

let scratch: Scratch
beforeEach(() => {
  scratch = new Scratch()
})
afterEach(() => scratch.undo())

/** The commands as `main.ts` has them, in this process. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>) {
  const before = { ...process.env }
  const written = { out: '', err: '' }
  const hear = (name: 'out' | 'err') => (text: string | Uint8Array, done?: unknown) => {
    written[name] += text
    if (typeof done === 'function') done()
    return true
  }
  const spies = [
    spyOn(process.stdout, 'write').mockImplementation(hear('out')),
    spyOn(process.stderr, 'write').mockImplementation(hear('err')),
  ]
  Object.assign(process.env, env)
  try {
    const program = new Command('stampede').exitOverride()
    addBackup(program)
    await program.parseAsync(['node', 'stampede', ...args])
    return { code: 0, line: '', ...written }
  } catch (error) {
    return { code: explain(error).exitCode, line: explain(error).line, ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

test('backup and restore say in one line what they did, or why not', async () => {
  const dataDir = await scratch.madeDataDir()
  const to = join(scratch.folder(), 'backup')
  const made = await run(['backup', '--to', to], { DATA_DIR: dataDir })
  expect([made.code, made.err]).toEqual([0, ''])
  expect(made.out).toMatch(/^backup of the stopped ledger in \S+backup: \d+ files, [\d.]+ MB, [\d.]+ s\n$/)
  const again = await run(['backup', '--to', to], { DATA_DIR: dataDir })
  expect([again.code, again.out, again.line]).toEqual([1, '', expect.stringContaining('exists already')])

  const elsewhere = scratch.dataDirIn(scratch.folder())
  const restored = await run(['restore', '--from', to, '--json'], { DATA_DIR: elsewhere })
  expect(JSON.parse(restored.out)).toMatchObject({ dataDir: elsewhere, files: expect.any(Number) })
  expect(await query((await scratch.start(elsewhere)).connection, 'SELECT 1')).toEqual([1])
  const over = await run(['restore', '--from', to], { DATA_DIR: dataDir })
  expect([over.code, over.line]).toEqual([1, expect.stringContaining('there is a ledger')])
})

test('a ledger of your own is not backed up or restored here', async () => {
  const env = { DATABASE_URL: 'postgres://x@127.0.0.1/x', GUEST_SIGN_IN: 'on' }
  const to = join(scratch.folder(), 'backup')
  expect(await run(['backup', '--to', to], env)).toMatchObject({
    code: 2,
    line: expect.stringContaining('pg_basebackup'),
  })
  expect(await run(['restore', '--from', to], env)).toMatchObject({
    code: 2,
    line: expect.stringContaining('unset it'),
  })
  expect(existsSync(to)).toBe(false)
})
