/**
 * The same random lives for every gate, against one model (`contract/model-life.ts`, `contract/reference-gate.ts`): `gateModel('memory gate', …)` in the
 * adapter's own test file. A failure prints its seed: `SEED=…` walks the same way again.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { ModelLife } from './contract/model-life.ts'
import { lives } from './contract/model-steps.ts'
import type { ModelSubject } from './contract/model-subject.ts'

interface GateModelOptions {
  readonly seed: number
  readonly lives: number
  readonly stepsMax: number
  /** A gate or an item nobody has used, for the life with this number. */
  readonly begin: (life: number) => Promise<ModelSubject>
  /** What else must be true when the life is over. */
  readonly end?: (subject: ModelSubject, life: ModelLife) => Promise<void>
  /** Beside what every gate says: a walk that never meets one of these proves nothing about it. */
  readonly meets?: readonly string[]
}

const MEETS = [
  ...['reserved', 'same', 'same_closed', 'not_enough', 'attempts_used', 'id_conflict', 'not_now'],
  ...['ok', 'early', 'paused', 'over', 'stale', 'busy', 'unknown', 'done', 'gap', 'past', 'bug'],
]

export function gateModel(name: string, options: GateModelOptions): void {
  const { seed, begin, end, meets = [] } = options
  test(`the ${name} answers as the reference gate does, whatever happens in whatever order, and every unit is accounted for`, async () => {
    console.log(`${name} model: SEED=${seed}`)
    const told = new Map<string, number>()
    let count = 0
    await fc.assert(
      fc.asyncProperty(lives(options.stepsMax), async plan => {
        count += 1
        const subject = await begin(count)
        const life = new ModelLife(subject)
        await life.live(plan)
        await end?.(subject, life)
        for (const [what, times] of life.told) told.set(what, (told.get(what) ?? 0) + times)
      }),
      { seed, numRuns: options.lives },
    )
    const must = [...MEETS, ...meets]
    console.log(must.map(what => `${what} ${told.get(what) ?? 0}`).join(', '))
    const timesMin = Math.max(1, options.lives / 250)
    for (const what of must) expect([what, (told.get(what) ?? 0) >= timesMin]).toEqual([what, true])
  }, 300_000)
}
