/** A real SMTP server for tests (Debian's aiosmtpd, `server.py`), a process of its own on a free port, and what it has taken. */

import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { childEnd } from '../../src/base/child-end.ts'
import type { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { ensureServers } from '../servers.ts'

/** Debian's own: its packages are not seen by another Python. */
const PYTHON = '/usr/bin/python3'

interface Mail {
  readonly to: string
  readonly id: string
  readonly subject: string
  readonly text: string
  readonly everybody: readonly string[]
  /** Did it come over TLS? */
  readonly tls: boolean
  readonly headers: readonly string[]
}

export class SmtpServer {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #output = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = childEnd(child)
    const hear = (chunk: Buffer) => {
      this.#output += chunk.toString('utf8')
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
  }

  /** @param strict files of a certificate and its key, a user and a password: mail only after STARTTLS and sign-in */
  static async start(playground: Playground, strict: readonly string[] = []): Promise<SmtpServer> {
    ensureServers(['python3-aiosmtpd'], line => console.log(line))
    const child = spawn(PYTHON, [resolve(import.meta.dirname, 'server.py'), ...strict], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const server = new SmtpServer(child)
    playground.onUndo(() => server.kill())
    await until('the mail server listens', () => {
      if (child.exitCode !== null) throw new Error(`the mail server ended: ${server.#output}`)
      return /^\d+\n/.test(server.#output)
    })
    return server
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.#output.split('\n')[0]}`
  }

  get port(): number {
    return Number(this.#output.split('\n')[0])
  }

  /** All that it has taken, in that order. */
  mails(): Mail[] {
    // Beside them: what it says of broken connections.
    const lines = this.#output
      .split('\n')
      .slice(1, -1)
      .filter(line => line.startsWith('{'))
    return lines.map(line => JSON.parse(line) as Mail)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}
