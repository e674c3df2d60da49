/** Six hundred made-up accounts of one person, against sixty people: first come, first served; with a draw; and with a draw that takes each verified phone number once. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { fairShare, MADE_UP, PEOPLE, playSybil, SYBIL_ENV } from '../harness/sybil-sale.ts'

setDefaultTimeout(300_000)

const UNITS = 500
const PHONES = 2
const playground = new Playground()
let site: Site
beforeAll(async () => {
  site = await Site.start(playground, { dataDir: playground.dataDir(), env: SYBIL_ENV })
})
afterAll(() => playground.undo())

test('with the draw, people get the share of the units that they have of the line', async () => {
  const { people, sold, inLine } = await playSybil(() => site.url(), { units: UNITS, how: 'draw', phones: 0 })
  expect([sold, inLine]).toEqual([UNITS, MADE_UP + PEOPLE])
  const { expected, deviation } = fairShare(UNITS, MADE_UP + PEOPLE)
  console.log(
    `  ${MADE_UP} made-up accounts, ${PEOPLE} people, ${UNITS} units, drawn: people got ${people}, ${expected.toFixed(1)} ± ${deviation.toFixed(1)} expected`,
  )
  expect(Math.abs(people - expected)).toBeLessThan(5 * deviation)
})

test('with a verified phone number that may join once, people get at least 95% of the units', async () => {
  const plan = { units: UNITS, how: 'claim', phones: PHONES } as const
  const { people, sold, inLine, refused } = await playSybil(() => site.url(), plan)
  console.log(`  the same with ${PHONES} phone numbers for ${MADE_UP} accounts: people got ${people} of ${sold} units`)
  expect(inLine).toBe(PEOPLE + PHONES)
  expect(refused).toEqual({ claim_used: MADE_UP / 2 - PHONES, claim_required: MADE_UP / 2 })
  expect(people / sold).toBeGreaterThanOrEqual(0.95)
})
