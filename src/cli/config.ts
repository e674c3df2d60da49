/** `stampede config`: what is in force, secrets hidden. */

import type { Command } from 'commander'
import { readConfigForTools } from '../app/config/config.ts'

/** Of the longest name. */
const WIDTH = 27

export function addConfig(program: Command): void {
  program
    .command('config')
    .description('print the configuration in force, secrets hidden')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const { shown } = readConfigForTools()
      if (options.json) process.stdout.write(`${JSON.stringify(shown)}\n`)
      else
        for (const [name, value] of Object.entries(shown))
          process.stdout.write(`${name.padEnd(WIDTH)} ${String(value ?? '-')}\n`)
    })
}
