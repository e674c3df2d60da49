/** The hidden command behind "bring the crowd" on the demo's page. */

import type { Command } from 'commander'
import { CROWD_COMMAND, type CrowdTask } from '../app/start/demo-crowd.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { runDemoCrowd } from '../rehearsal/demo-crowd.ts'
import { readTask } from './standard-input.ts'

export function addDemoCrowd(program: Command): void {
  program
    .command(CROWD_COMMAND, { hidden: true })
    .description("the demo's crowd: its task on standard input, ends with it")
    .action(async () => {
      const stopping = new AbortController()
      const task = await readTask<CrowdTask>(stopping)
      await runDemoCrowd(task, { clock: systemClock, random: systemRandom, stop: stopping.signal })
    })
}
