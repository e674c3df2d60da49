/**
 * A worker that solves one challenge and ends. Loaded where a sale asks for a proof of work before the ticket; the page stays responsive.
 * Takes `{challenge, start, step}`: it tries every `step`-th counter from `start` on, so that several workers share the search.
 */

import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'

interface Work {
  readonly challenge: Challenge
  readonly start: number
  readonly step: number
}

self.onmessage = async ({ data }: MessageEvent<Work>) => {
  const { challenge, start, step } = data
  const solution = await solveChallenge({ challenge, deriveKey, counterStart: start, counterStep: step, timeout: 0 })
  self.postMessage(solution)
}
