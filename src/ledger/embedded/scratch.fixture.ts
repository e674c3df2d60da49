/** For tests of the embedded server: folders that are cleaned up wherever their data lives, processes, and plain questions. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { copyMadeData } from '../../../test/harness/made-data.ts'
import { systemClock } from '../../base/clock.ts'
import { blockedAt } from './account.ts'
import type { Connection } from './postmaster.ts'
import { startEmbeddedServer } from './server.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
export const NOBODY = { uid: 65534, gid: 65534 } as const

/** What one test has begun, to be undone when it is over, in reverse. */
export class Scratch {
  readonly logged: string[] = []
  readonly #undo: (() => unknown)[] = []
  #copy: string | undefined

  /** A folder that every account may enter, as most are, but temporary ones are not. */
  folder(mode = 0o755): string {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-embedded-'))
    chmodSync(folder, mode)
    this.#undo.push(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  /** Data that moved out of an unreachable folder is removed together with it. */
  dataDirIn(folder: string, name = 'data'): string {
    const dataDir = join(folder, name)
    this.#undo.push(() => {
      const link = join(dataDir, 'postgres')
      if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) this.#removeOutside(readlinkSync(link))
    })
    return dataDir
  }

  /** A data folder whose database is made already. */
  async madeDataDir(): Promise<string> {
    const dataDir = this.dataDirIn(this.folder())
    await copyMadeData(dataDir)
    return dataDir
  }

  async start(dataDir: string): ReturnType<typeof startEmbeddedServer> {
    const server = await startEmbeddedServer({
      dataDir,
      log: (level, message) => this.logged.push(`${level} ${message}`),
    })
    this.#undo.push(() => server.stop())
    return server
  }

  /** The same in a process of its own. */
  async startProcess(dataDir: string, account?: { uid: number; gid: number }): Promise<ServerProcess> {
    const child = this.spawnProcess(dataDir, account)
    // Before its first line: a refused one may end in the same moment.
    const ended = endOf(child)
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const said = JSON.parse(String((await lines.next()).value))
    return { child, ended, ...said }
  }

  /**
   * The path to a file of the project that the account `nobody` can enter: into the project itself, or, where it lies in a folder closed to others, into
   * a copy of it (of hard links where they can be made, so it costs next to nothing).
   */
  reachable(path: string): string {
    if (blockedAt(ROOT, { name: 'nobody', ...NOBODY }) === undefined) return path
    if (this.#copy === undefined) {
      this.#copy = this.folder()
      const parts = ['src', 'node_modules', 'package.json'].map(part => join(ROOT, part))
      try {
        execFileSync('cp', ['-al', ...parts, this.#copy], { stdio: 'ignore' })
      } catch {
        execFileSync('cp', ['-a', ...parts, this.#copy])
      }
    }
    return join(this.#copy, relative(ROOT, path))
  }

  spawnProcess(dataDir: string, account?: { uid: number; gid: number }): ChildProcess {
    const there = (path: string) => (account === undefined ? path : this.reachable(path))
    const program = there(join(import.meta.dirname, 'server.fixture.ts'))
    const child = spawn(there(process.execPath), [program, dataDir], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
      ...account,
    })
    this.#undo.push(() => child.kill('SIGKILL'))
    return child
  }

  async undo(): Promise<void> {
    for (const step of this.#undo.reverse()) await step()
  }

  #removeOutside(folder: string): void {
    if (!/^\/var\/lib\/stampede\/data-[0-9a-f]+$/.test(folder)) throw new Error(`not removing ${folder}`)
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface ServerProcess {
  readonly child: ChildProcess
  readonly ended: Promise<void>
  readonly connection: Connection
  readonly postmaster: number
  readonly fault?: string
  readonly message?: string
}

export function endOf(child: ChildProcess): Promise<void> {
  return new Promise(resolve => child.on('exit', () => resolve()))
}

/** The first column of the answer. */
export async function query(connection: Connection, statement: string): Promise<unknown[]> {
  const client = await connect(connection)
  try {
    const { rows } = await client.query({ text: statement, rowMode: 'array' })
    return rows.map(row => row[0])
  } finally {
    await client.end().catch(() => {})
  }
}

export async function connect(connection: Connection): Promise<Client> {
  const client = new Client(connection)
  client.on('error', () => {})
  await client.connect()
  return client
}

const LIMIT_MS = 120_000

/** Waits for a condition, never for a time: what is not seen within the limit has failed. */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = systemClock.elapsed() + LIMIT_MS
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (systemClock.elapsed() > deadline) throw new Error(`not seen within ${LIMIT_MS} ms: ${look}`)
    await systemClock.sleep(5)
  }
}

/** A field of /proc/<pid>/stat, counted as in its manual; nothing when the process is gone. */
export function procField(pid: number, field: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[field - 3]
  } catch {
    return undefined
  }
}

export function isGone(pid: number): boolean {
  return [undefined, 'Z', 'X'].includes(procField(pid, 3))
}
