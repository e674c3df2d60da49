/** The seed of the random lives: `SEED=…` repeats a run that failed. */

import { systemRandom } from '../base/random.ts'

export const MODEL_SEED = Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31))
