/**
 * What a proof of work costs the server, which makes and checks it, beside what it costs the solver: CPU time of this process, in which all three are
 * done by the same code and library. A wrong solution costs the server as much as a right one.
 */

import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { createChallengeOffice } from '../../src/admission/challenge/challenge-office.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Survey, SurveyFigure } from '../bench-case.ts'

const DIFFICULTIES = [1, 8, 32]
/** A search is a matter of chance: its cost is the mean of many. */
const SOLVED_TRIES = 8_000
const CHECKED = 200
const PART_MOST = 0.01

export const challengeCost: Survey = {
  name: 'challenge cost',
  byName: true,
  async run({ clock, blink }, print) {
    const office = createChallengeOffice({ secret: 'only for the bench', clock, random: systemRandom })
    const figures: SurveyFigure[] = []
    const violations: string[] = []
    for (const difficulty of blink ? [1] : DIFFICULTIES) {
      const subject = { sale: '1', item: '2', buyer: 'ann', attempt: 1 }
      const times = blink ? 5 : CHECKED
      const made = await cpuMicrosOf(times, () => office.make(subject, difficulty))
      const challenge = await office.make(subject, difficulty)
      const tries = 16 ** challenge.parameters.keyPrefix.length
      // So many tries of the search as it is, which finds nothing: the prefix can't be met.
      const measured = Math.max(20, Math.round((blink ? 200 : SOLVED_TRIES) / difficulty))
      const tried = (await cpuMicrosOf(1, () => search(challenge, measured))) / measured
      const wrong = { challenge, solution: { counter: 1, derivedKey: '00'.repeat(32) } }
      const checked = await cpuMicrosOf(times, async () => {
        if ((await office.check(subject, wrong)) !== 'wrong') violations.push('a wrong solution was not refused')
      })
      const at = `difficulty ${difficulty}`
      const solving = tried * tries
      figures.push(
        { group: `solving, ${at}`, at: 'CPU', value: solving / 1000, unit: 'ms', ratio: 1 },
        { group: `solving, ${at}`, at: 'making', value: made / 1000, unit: 'ms', ratio: made / solving },
        {
          group: `solving, ${at}`,
          at: 'making and checking',
          value: (made + checked) / 1000,
          unit: 'ms',
          ratio: (made + checked) / solving,
          aim: { most: PART_MOST },
        },
      )
      print(`${this.name}: ${at} measured`)
    }
    return { name: this.name, what: 'a proof of work, beside solving it', figures, violations }
  },
}

async function search({ parameters, signature }: Challenge, tries: number): Promise<void> {
  const endless = { parameters: { ...parameters, keyPrefix: 'f'.repeat(64) }, signature: signature! }
  let left = tries
  const stop = new AbortController()
  await solveChallenge({
    challenge: endless,
    controller: stop,
    deriveKey: (...args: Parameters<typeof deriveKey>) => {
      left -= 1
      if (left <= 0) stop.abort()
      return deriveKey(...args)
    },
    timeout: 0,
  }).catch(() => undefined)
}

/** CPU time of the whole process, its threads included, for each time. */
async function cpuMicrosOf(times: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < times; i++) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}
