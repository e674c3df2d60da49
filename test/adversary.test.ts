/** The scripted adversary of the bench (`npm run bench -- adversary`), in small: with all defences on honest buyers keep the units, and no limit refuses them. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { DEFENCES } from '../bench/adversary/defences.ts'
import { runSale } from '../bench/adversary/run.ts'
import { systemClock } from '../src/base/clock.ts'

setDefaultTimeout(300_000)

const SEED = 20_261_118

test('beside an adversary with a fifth of the accounts, honest buyers get nearly all units and meet no limit', async () => {
  console.log(`seed ${SEED}`)
  const plan = { honest: 250, office: 60, accounts: 50, units: 100, ticketsForS: 3, payWithinS: 4 }
  const on = new Set(DEFENCES.map(({ name }) => name))
  const { honest, refusals, toHonest, violations } = await runSale(on, plan, SEED, systemClock)
  expect({ refusals, violations, heard: toHonest.get('lost') ?? 0 }).toEqual({ refusals: 0, violations: [], heard: 0 })
  expect(honest).toBeGreaterThanOrEqual(0.95)
})
