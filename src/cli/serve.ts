/** `stampede serve`: runs until it is told to stop. */

import type { Command } from 'commander'
import { readConfig } from '../app/config.ts'
import { serve } from '../app/lifecycle.ts'
import { explain } from './explain.ts'

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('start the server: embedded PostgreSQL unless DATABASE_URL is set')
    .action(async () => {
      const config = readConfig()
      const stopping = new AbortController()
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.abort())
      // A promise nobody waits for has failed: that is a bug. Better no process than one in a state nobody thought of.
      process.on('unhandledRejection', error => {
        process.stderr.write(`stampede: ${explain(error).line}\n`)
        process.exit(1)
      })
      await serve(config, line => process.stdout.write(`${line}\n`), stopping.signal)
    })
}
