/**
 * A PostgreSQL as an operator has it, with its own tools beside it: started from the packages of the machine, on loopback, in a folder of its
 * own. npm brings a server without tools. Nothing of it is left when the playground
 * is undone.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { accountFor } from '../../src/ledger/embedded/account.ts'
import { freePort } from '../harness/free-port.ts'
import type { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const PACKAGES = '/usr/lib/postgresql'
const NEEDED = ['initdb', 'postgres', 'psql', 'pg_dump', 'pg_restore', 'pg_basebackup', 'createdb', 'pg_isready']
const START_MS_MAX = 120_000

/** Where server and tools of one version lie, the newest. */
export function installedTools(): string {
  const folders = existsSync(PACKAGES) ? readdirSync(PACKAGES) : []
  const found = folders
    .toSorted((a, b) => Number(b) - Number(a))
    .map(version => join(PACKAGES, version, 'bin'))
    .find(bin => NEEDED.every(name => existsSync(join(bin, name))))
  if (found === undefined) throw new Error(`no PostgreSQL with its tools below ${PACKAGES}`)
  return found
}

export class OwnPostgres {
  /** For backups; PostgreSQL may write there. */
  readonly backup: string
  readonly port: number
  readonly #bin: string
  readonly #folder: string
  readonly #account = accountFor(undefined)
  #data: string
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()

  private constructor(bin: string, folder: string, port: number) {
    this.#bin = bin
    this.#folder = folder
    this.port = port
    this.backup = this.#ownFolder('backup')
    this.#ownFolder('backup/wal')
    this.#data = this.#ownFolder('data')
  }

  /** Running, with an empty database `stampede` and its log kept in `backup/wal`, as the page says. */
  static async start(
    playground: Playground,
    bin: string,
    archiveCommand: (backup: string) => string,
  ): Promise<OwnPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'stampede-own-postgres-'))
    chmodSync(folder, 0o755)
    playground.onUndo(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
    const server = new OwnPostgres(bin, folder, await freePort())
    playground.onUndo(() => server.stop())
    await server.shell(`initdb --auth=trust --username=stampede --pgdata="$PGDATA"`)
    const settings = [
      `listen_addresses = '127.0.0.1'`,
      `unix_socket_directories = ''`,
      `port = ${server.port}`,
      'archive_mode = on',
      `archive_command = '${archiveCommand(server.backup)}'`,
    ]
    await server.shell(`cat >>"$PGDATA/postgresql.conf" <<'END'\n${settings.join('\n')}\nEND`)
    await server.run()
    await server.shell('createdb stampede')
    return server
  }

  get url(): string {
    return `postgres://stampede@127.0.0.1:${this.port}/stampede`
  }

  /** Starts it on its folder; returns when it answers and may be written to. */
  async run(): Promise<void> {
    const child = spawn(join(this.#bin, 'postgres'), ['-D', this.#data], {
      ...this.#as(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    let said = ''
    child.stderr?.on('data', chunk => {
      said += chunk
    })
    this.#ended = childEnd(child).then(() => {
      this.#child = undefined
    })
    const asked = ['-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'stampede', '-d', 'postgres', '-Atc']
    await until(
      'PostgreSQL, out of recovery',
      () => {
        if (this.#child === undefined) throw new Error(`PostgreSQL ended while it was started:\n${said}`)
        const told = spawnSync(join(this.#bin, 'psql'), [...asked, 'SELECT pg_is_in_recovery()'], { encoding: 'utf8' })
        return told.stdout.trim() === 'f'
      },
      START_MS_MAX,
    )
  }

  /** The fast way: connections are ended, what is committed is written. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGINT')
    await this.#ended
  }

  /** The folder it had stays where it is; the next start is on an empty one. */
  elsewhere(): void {
    this.#data = this.#ownFolder('data-again')
  }

  /** Lines of a shell as PostgreSQL's own user, stopped at the first that fails. Answers what they printed. */
  async shell(lines: string): Promise<string> {
    const child = spawn('/bin/sh', ['-euc', lines], {
      ...this.#as(),
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${this.#bin}:/usr/bin:/bin`,
        PGHOST: '127.0.0.1',
        PGPORT: `${this.port}`,
        PGUSER: 'stampede',
        PGDATA: this.#data,
      },
    })
    let [out, err] = ['', '']
    child.stdout?.on('data', chunk => {
      out += chunk
    })
    child.stderr?.on('data', chunk => {
      err += chunk
    })
    const { code } = await childEnd(child)
    if (code !== 0) throw new Error(`${lines}\n${err}`)
    return out.trim()
  }

  /** It does not run as root. */
  #as(): { uid?: number; gid?: number } {
    return this.#account === undefined ? {} : { uid: this.#account.uid, gid: this.#account.gid }
  }

  #ownFolder(name: string): string {
    const folder = join(this.#folder, name)
    mkdirSync(folder, { mode: 0o700 })
    if (this.#account !== undefined) chownSync(folder, this.#account.uid, this.#account.gid)
    return folder
  }
}
