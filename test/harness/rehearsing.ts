/** `stampede rehearse` as a process, for the tests of one file: each test has an empty folder, in which the command runs and keeps its temporary files. */

import { afterEach, beforeEach } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HeardOut, listenTo } from './heard-out.ts'
import { Playground } from './playground.ts'
import { PROGRAM } from './program.ts'

/** `last`: the last line on standard error, what a person is left with. */
type Ran = HeardOut & { readonly last: string }

interface Begun {
  readonly child: ChildProcess
  readonly ran: Promise<Ran>
  readonly err: () => string
}

interface BeginOptions {
  /** The program and its first arguments; the rest is appended. */
  readonly command?: readonly [string, ...string[]]
  readonly detached?: boolean
  /** With the same crowd at a constant server, which takes some seconds more. */
  readonly compared?: boolean
}

export function rehearsing() {
  const playground = new Playground()
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'stampede-rehearse-'))
    chmodSync(folder, 0o711)
    playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  })
  afterEach(() => playground.undo())

  function begin(args: readonly string[], { command, detached = false, compared = false }: BeginOptions = {}): Begun {
    const [program, ...first] = command ?? [process.execPath, PROGRAM]
    const child = spawn(program, [...first, 'rehearse', ...(compared ? [] : ['--no-constant']), ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached,
    })
    playground.onUndo(() => void child.kill('SIGKILL'))
    const { ran, err } = listenTo(child)
    return { child, err, ran: ran.then(heard => ({ ...heard, last: heard.err.trim().split('\n').at(-1) ?? '' })) }
  }

  return {
    playground,
    folder: () => folder,
    begin,
    run: (args: readonly string[], options?: BeginOptions) => begin(args, options).ran,
  }
}
