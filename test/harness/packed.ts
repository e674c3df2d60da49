/** The package as `npm pack` makes it, and a server that runs from it. */

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { listenTo } from './heard-out.ts'
import type { Playground } from './playground.ts'
import { until } from './until.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** The tarball, in a folder of its own. */
export function packProject(playground: Playground): { readonly folder: string; readonly tarball: string } {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-packed-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  run(ROOT, 'npm', 'pack', '--silent', '--pack-destination', folder)
  const [tarball = ''] = readdirSync(folder)
  return { folder, tarball: join(folder, tarball) }
}

export function run(cwd: string, program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

/** Serves by this command until the test is over; the address. */
export async function serveBy(playground: Playground, cwd: string, command: readonly string[]): Promise<string> {
  const [program = '', ...args] = command
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: playground.dataDir() }
  const child = spawn(program, [...args, 'serve', '--port', '0'], { cwd, env })
  let seen = ''
  child.stdout.on('data', chunk => (seen += chunk))
  const { ran } = listenTo(child)
  playground.onUndo(async () => {
    child.kill('SIGTERM')
    await ran
  })
  return until('a server that was started from the package', () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${seen}`)
    return /^stampede ready on (\S+)$/m.exec(seen)?.[1]
  })
}
