/**
 * A real Stampede in a process of its own, as `npm start` runs it, on a free port. Whatever the test does with it, nothing of it is left
 * running when the playground is undone.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import { copyMadeData } from './made-data.ts'
import type { Playground } from './playground.ts'
import { PROGRAM } from './program.ts'
import { within } from './until.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const READY = /^stampede ready on (http:\/\/\S+)$/m
const START_MS_MAX = 120_000
const STOP_MS_MAX = 60_000

export const ADMIN_TOKEN = 'admin-token-of-the-tests-only'
export const BUYER_JWT_SECRET = 'buyer-secret-of-the-tests-only-0123456789'

export interface StampedeOptions {
  readonly dataDir: string
  readonly faultPoints?: string
  readonly env?: Readonly<Record<string, string>>
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class Stampede {
  readonly pid: number
  readonly dataDir: string
  /** Resolves when the process is gone, however it went. */
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  readonly #ready: Promise<string>
  #output = ''
  #url = ''
  #exit: Exit | undefined

  private constructor(child: ChildProcess, dataDir: string) {
    if (child.pid === undefined) throw new Error('the server could not be started')
    this.pid = child.pid
    this.dataDir = dataDir
    this.#child = child
    const ready = Promise.withResolvers<string>()
    this.#ready = ready.promise
    // A test that does not wait for it must not fail by an unhandled rejection.
    this.#ready.catch(() => {})
    const hear = (chunk: Buffer) => {
      this.#output += chunk.toString('utf8')
      const url = READY.exec(this.#output)?.[1]
      if (url !== undefined) {
        this.#url = url
        ready.resolve(url)
      }
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    this.exited = new Promise(done => {
      void childEnd(child).then(({ code, signal }) => {
        this.#exit = { code, signal }
        ready.reject(new Error(`the server ended (${signal ?? `code ${code}`}) before it was ready:\n${this.#output}`))
        done(this.#exit)
      })
    })
  }

  /** Starts the process without waiting for anything. */
  static spawn(playground: Playground, options: StampedeOptions): Stampede {
    // A version that lies elsewhere runs its own sources (`upgrade/landed.ts`): the path of ours would lead back here.
    const isElsewhere = options.env?.BUN_OPTIONS?.includes('--cwd=') ?? false
    const child = spawn(process.execPath, [isElsewhere ? 'src/main.ts' : PROGRAM, 'serve'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: tmpdir(),
        HOST: '127.0.0.1',
        PORT: '0',
        DATA_DIR: options.dataDir,
        DEMO: 'off',
        // Hundreds of servers with a sale ahead: two seconds of CPU time for each.
        WARM_CODE: 'off',
        ADMIN_TOKEN,
        BUYER_JWT_SECRET,
        // With a shop's key it is on by name only.
        ...(options.env?.DATABASE_URL === undefined && { PAYMENT_PROVIDERS: 'sandbox' }),
        RATE_PER_BUYER: 'off',
        RATE_PER_ADDRESS: 'off',
        SOCKETS_PER_ADDRESS: '10000',
        LOG_LEVEL: 'warn',
        FAULT_POINTS: options.faultPoints ?? '',
        ...options.env,
      },
    })
    const server = new Stampede(child, options.dataDir)
    playground.onUndo(() => server.kill())
    return server
  }

  /** Starts it and returns when it takes traffic. A new data folder gets its database as a copy: `spawn` alone lets the server make it. */
  static async start(playground: Playground, options: StampedeOptions): Promise<Stampede> {
    if (options.env?.DATABASE_URL === undefined && !existsSync(options.dataDir)) await copyMadeData(options.dataDir)
    const server = Stampede.spawn(playground, options)
    await server.ready()
    return server
  }

  ready(): Promise<string> {
    return within('the line "stampede ready on …"', START_MS_MAX, this.#ready)
  }

  url(): string {
    return this.#url
  }

  running(): boolean {
    return this.#exit === undefined
  }

  /** Everything it has printed so far. */
  output(): string {
    return this.#output
  }

  /** SIGKILL; the PostgreSQL it had started may go on running, as after a real crash. */
  async kill(): Promise<void> {
    if (this.#exit === undefined) this.#child.kill('SIGKILL')
    await this.exited
  }

  /** SIGTERM; returns how it ended. */
  async stop(): Promise<Exit> {
    this.#child.kill('SIGTERM')
    return within('the end of the server after SIGTERM', STOP_MS_MAX, this.exited)
  }
}
