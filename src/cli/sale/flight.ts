/** `stampede flight`: the last decisions of the process that answers. */

import type { Command } from 'commander'
import type { FlightAnswer } from '../../wire/flight/flight-calls.ts'
import { print, printJson, table } from '../table.ts'
import { Client, type ServerOptions, withServer } from './client.ts'

interface FlightOptions extends ServerOptions {
  readonly limit: string
}

export function addFlight(program: Command): void {
  const command = program
    .command('flight')
    .description('the last decisions of the process at --server: what was answered, placed, paid, closed')
    .option('--limit <n>', 'how many, at most 4096', '50')
  withServer(command).action(async (options: FlightOptions) => {
    const path = `/api/admin/flight?limit=${encodeURIComponent(options.limit)}`
    const answer = await new Client(options).ask<FlightAnswer>(path)
    if (options.json) return printJson(answer)
    const lines = table(answer.decisions, [
      { title: 'at', of: one => one.at },
      { title: 'what', of: one => one.what },
      { title: 'times', of: one => one.count, right: true },
      { title: 'about', of: one => one.about },
      { title: 'order', of: one => one.order },
    ])
    return print(`node ${answer.node}, ${answer.noted} noted since its start\n${lines}`)
  })
}
