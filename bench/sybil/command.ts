/**
 * `npm run bench -- sybil [--quick]`: who gets the units when one person comes with many accounts: first come, first served, with a draw, and with a draw that takes each
 * verified phone number once; as a table for docs/fairness.md. Exit code 1 if people get less than their share of a line allows, or less than 95% with the claim.
 */

import { systemClock } from '../../src/base/clock.ts'
import { Playground } from '../../test/harness/playground.ts'
import { Site } from '../../test/harness/site.ts'
import { fairShare, MADE_UP, PEOPLE, playSybil, SYBIL_ENV, type SybilOutcome } from '../../test/harness/sybil-sale.ts'
import { commitOf, describeMachine } from '../report.ts'

const UNITS = 500
const PHONES = 2
const DRAWS = 5
const CLAIM_SHARE_LEAST = 0.95
const DEVIATIONS_MAX = 5

export async function sybil(quick: boolean): Promise<number> {
  const playground = new Playground()
  const at = new Date(systemClock.now()).toISOString().slice(0, 10)
  try {
    const site = await Site.start(playground, { dataDir: playground.dataDir(), env: SYBIL_ENV })
    const url = () => site.url()
    const play = async (how: 'first' | 'draw' | 'claim') => {
      const outcome = await playSybil(url, { units: UNITS, how, phones: PHONES })
      console.log(`${how}: people got ${outcome.people} of ${outcome.sold} units`)
      return outcome
    }
    const first = await play('first')
    const draws: SybilOutcome[] = []
    for (let i = 0; i < (quick ? 1 : DRAWS); i++) draws.push(await play('draw'))
    const claimed = await play('claim')
    const { expected, deviation } = fairShare(UNITS, MADE_UP + PEOPLE)
    const mean = draws.reduce((sum, { people }) => sum + people, 0) / draws.length
    const { cpu, cores } = describeMachine()
    console.log(`
| how it is sold | people's units | by their share of the line |
|---|---|---|
| first come, first served | ${first.people} of ${first.sold} | - |
| a draw (${draws.length} runs) | ${draws.map(({ people }) => people).join(', ')} of ${UNITS}; mean ${mean.toFixed(1)} | ${expected.toFixed(1)} ± ${deviation.toFixed(1)} |
| a draw with a verified claim, ${PHONES} of them for all made-up accounts | ${claimed.people} of ${claimed.sold} | ${PEOPLE} of ${PEOPLE + PHONES} in line |

${UNITS} units, ${PEOPLE} people at human speed, ${MADE_UP} made-up accounts of one program; ${at}, ${cpu}, ${cores} cores, ${commitOf(new URL('../..', import.meta.url).pathname)}`)
    const isFair = draws.every(({ people }) => Math.abs(people - expected) < DEVIATIONS_MAX * deviation)
    const isVerified = claimed.people / claimed.sold >= CLAIM_SHARE_LEAST
    if (!isFair) console.error('a draw is further from the share of the line than chance allows')
    if (!isVerified) console.error('with the claim, people got less than 95%')
    return isFair && isVerified ? 0 : 1
  } finally {
    await playground.undo()
  }
}
