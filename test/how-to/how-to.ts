/**
 * A how-to as its reader follows it: commands and files are taken out of the document by the comment above each block, and done in order, in a folder that
 * is empty at first. Only ports and the folder for packages differ from what is printed.
 *
 *   <!-- run -->         commands; one that fails ends it         <!-- file: NAME -->   the block is this file
 *   <!-- serve -->       runs until the end; the next step begins when it has printed an address
 *   <!-- pack -->, <!-- install -->   need the registry: `done` by the test where it runs without one
 */

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { listenTo } from '../harness/heard-out.ts'
import type { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const STEP = /^<!-- (run|serve|pack|install|file)(?:: (\S+))? -->\n```\w*\n([\s\S]*?)^```$/gm

type StepKind = 'run' | 'serve' | 'pack' | 'install' | 'file'

interface Step {
  readonly kind: StepKind
  /** Of a file. */
  readonly name: string
  readonly text: string
}

export function readHowTo(path: string): readonly Step[] {
  const steps = [...readFileSync(resolve(ROOT, path), 'utf8').matchAll(STEP)].map(
    ([, kind, name = '', text = '']): Step => ({ kind: kind as StepKind, name, text }),
  )
  if (steps.length === 0) throw new Error(`${path} has no steps`)
  return steps
}

interface ReaderOptions {
  readonly env?: Readonly<Record<string, string>>
  /** What stands in the document, and what is used here instead. */
  readonly instead?: Readonly<Record<string, string>>
  /** Kinds of steps that the test has seen to already. */
  readonly done?: readonly StepKind[]
}

/** A reader with a folder of their own. */
export class Reader {
  readonly folder: string
  readonly #playground: Playground
  readonly #options: ReaderOptions

  constructor(playground: Playground, options: ReaderOptions = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'stampede-reader-'))
    playground.onUndo(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
    this.#playground = playground
    this.#options = options
  }

  /** Everything that the commands have printed. */
  async follow(steps: readonly Step[]): Promise<string> {
    let printed = ''
    for (const step of steps) {
      if (this.#options.done?.includes(step.kind)) continue
      const text = this.#withOwn(step.text)
      if (step.kind === 'file') this.#write(step.name, text)
      else if (step.kind === 'serve') await this.#serve(text)
      else printed += await this.#run(text, step.kind === 'pack' ? ROOT : this.folder)
    }
    return printed
  }

  #withOwn(text: string): string {
    return Object.entries(this.#options.instead ?? {}).reduce(
      (all, [printed, own]) => all.replaceAll(printed, own),
      text,
    )
  }

  #write(name: string, text: string): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  #spawn(script: string, cwd: string) {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), ...this.#options.env }
    // A group of its own: what a shell has started ends with it.
    return spawn('sh', ['-e', '-c', script], { cwd, env, detached: true })
  }

  async #run(script: string, cwd: string): Promise<string> {
    const child = this.#spawn(script, cwd)
    this.#playground.onUndo(() => child.exitCode === null && endGroup(child.pid, 'SIGKILL'))
    const { code, out, err } = await listenTo(child).ran
    if (code !== 0) throw new Error(`ended with ${code}:\n${script}\n${out}${err}`)
    return out
  }

  async #serve(script: string): Promise<void> {
    const child = this.#spawn(script, this.folder)
    let seen = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (seen += chunk))
    const { ran } = listenTo(child)
    this.#playground.onUndo(async () => {
      if (child.exitCode === null) endGroup(child.pid, 'SIGTERM')
      await ran
    })
    await until(`the address of ${script}`, () => {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${script}\n${seen}`)
      return /(ready on|url:) http:\/\/\S+/.test(seen)
    })
  }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
