/** The hidden command behind "bring the crowd": what to do comes on standard input, and it ends with it. */

import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { CROWD_COMMAND, type CrowdTask } from '../app/demo-crowd.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { systemRandom } from '../base/random.ts'
import { runDemoCrowd } from '../rehearsal/demo-crowd.ts'

export function addDemoCrowd(program: Command): void {
  program
    .command(CROWD_COMMAND, { hidden: true })
    .description('the demo’s crowd: its task on standard input, ends with it')
    .action(run)
}

async function run(): Promise<void> {
  const stopping = new AbortController()
  const first = Promise.withResolvers<string>()
  const lines = createInterface({ input: process.stdin })
  lines.once('line', first.resolve)
  lines.once('close', () => {
    first.reject(new Fault('no_task', 'the demo’s crowd gets its task on standard input'))
    stopping.abort()
  })
  const task = JSON.parse(await first.promise) as CrowdTask
  await runDemoCrowd(task, { clock: systemClock, random: systemRandom, stop: stopping.signal })
}
