/**
 * The version that landed last, to be run beside this one: `pack.ts` has put it here. It runs with the packages that are installed now, so
 * a change of those is part of what is tested. `Current` is what a shop has in one place of its disk: first that version, then this one.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import type { Playground } from '../harness/playground.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
export const ARCHIVE = join(import.meta.dirname, 'landed.tar.br')
export const NOTE = join(import.meta.dirname, 'landed.json')

interface Note {
  readonly commit: string
  readonly migrations: readonly string[]
}

export const landedNote = (): Note => JSON.parse(readFileSync(NOTE, 'utf8'))

/** Names and texts of the migrations of a version, in their order. */
export function migrationsIn(root: string): readonly { readonly name: string; readonly text: string }[] {
  const folder = join(root, 'src/ledger/migrations')
  return readdirSync(folder)
    .toSorted()
    .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
}

/** A folder in which the landed version can be run. */
export function unpackLanded(playground: Playground): string {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-landed-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], {
    input: brotliDecompressSync(readFileSync(ARCHIVE)),
  })
  if (status !== 0) throw new Error(`the landed version can't be unpacked: ${stderr}`)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** One path, and what lies there now. A process that runs keeps the version it was started with. */
export class Current {
  readonly path: string

  constructor(playground: Playground, root: string) {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-current-'))
    playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
    this.path = join(folder, 'current')
    this.switchTo(root)
  }

  switchTo(root: string): void {
    symlinkSync(root, `${this.path}.next`)
    renameSync(`${this.path}.next`, this.path)
  }

  /** For a process: it starts in whatever lies at the path then. */
  get env(): Readonly<Record<string, string>> {
    return { BUN_OPTIONS: `--cwd=${this.path}` }
  }
}

/** From which version's folder this process runs: where its program lies, not only where it stands. */
export function folderOf(pid: number): string {
  const [, program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  return resolve(readlinkSync(`/proc/${pid}/cwd`), program, '../..')
}
