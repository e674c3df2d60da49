/** `stampede serve`: runs until a signal stops it. */

import type { Command } from 'commander'
import { ConfigError, readConfig } from '../app/config/config.ts'
import { serve } from '../app/start/lifecycle.ts'
import { Fault } from '../base/fault.ts'

/** Where the terminal does not report its width. */
const COLUMNS = 80

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('start the server: embedded PostgreSQL unless DATABASE_URL is set')
    .option('--port <port>', 'the port to listen on (default: PORT, or 8080)')
    .action(async ({ port }: { port?: string }) => {
      const config = readConfig(undefined, { ...(port !== undefined && { PORT: port }) })
      const stopping = new AbortController()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())
      // An un-awaited promise has failed: a bug. No process is better than one in an unknown state.
      process.on('unhandledRejection', error => {
        process.stderr.write(`stampede: ${explain(error).line}\n`)
        process.exit(1)
      })
      // Before it can be answered the signal is ignored; by default it would end the process.
      let dump = () => {}
      if (process.platform !== 'win32') process.on('SIGUSR2', () => dump())
      const onDumpAsked = (asked: () => void) => {
        dump = asked
      }
      const { stdout } = process
      const terminal = stdout.isTTY
        ? { terminal: { colours: stdout.hasColors(), columns: () => stdout.columns || COLUMNS } }
        : {}
      await serve(config, { print: line => stdout.write(`${line}\n`), ...terminal, onDumpAsked }, stopping.signal)
    })
}

/** What stopped a command, in one line for a person, and its exit code: 1 failed, 2 asked for in a way that can't work. */
export function explain(error: unknown): { readonly line: string; readonly exitCode: 1 | 2 } {
  if (error instanceof ConfigError) return { line: error.message, exitCode: 2 }
  if (error instanceof Fault) return { line: error.message, exitCode: 1 }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { line: `this is a bug, please report it\n${trace}`, exitCode: 1 }
}
