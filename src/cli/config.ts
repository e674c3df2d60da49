/** `stampede config`: what is in force, secrets hidden. */

import type { Command } from 'commander'
import { describeConfig, readConfigForTools } from '../app/config.ts'

export function addConfig(program: Command): void {
  program
    .command('config')
    .description('print the configuration in force, secrets hidden')
    .option('--json', 'for machines')
    .action((options: { json?: boolean }) => {
      const described = describeConfig(readConfigForTools())
      if (options.json) process.stdout.write(`${JSON.stringify(described)}\n`)
      else
        for (const [name, value] of Object.entries(described))
          process.stdout.write(`${name.padEnd(18)} ${String(value)}\n`)
    })
}
