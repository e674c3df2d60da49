/**
 * What a challenge costs its solver, and how it is solved here. 6,000 searches would take this machine's cores for an hour, so no search is made:
 * the price is read off the challenge (tries times iterations, at the speed that one core of this machine was measured to have), and what is sent is a
 * challenge of almost no work, signed with the server's own secret, which the server checks as any other.
 */

import { pbkdf2Sync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Challenge, createChallenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import type { Clock } from '../../src/base/clock.ts'

const MEASURED_ITERATIONS = 2_000_000
const HEX_DIGITS = 16

export type Solving = ReturnType<typeof createSolving>

export function createSolving(dataDir: string, clock: Clock) {
  const secret = readFileSync(join(dataDir, 'challenge'), 'utf8').trim()
  const beganMs = clock.elapsed()
  pbkdf2Sync('password', 'salt', MEASURED_ITERATIONS, 32, 'sha256')
  const iterationsPerS = (MEASURED_ITERATIONS / (clock.elapsed() - beganMs)) * 1000
  return {
    /** Seconds of one core, on average. */
    priceOf(challenge: unknown): number {
      const { cost, keyPrefix } = (challenge as Challenge).parameters
      return (cost * HEX_DIGITS ** keyPrefix.length) / iterationsPerS
    },
    async solve(challenge: unknown) {
      const { parameters } = challenge as Challenge
      const easy = await createChallenge({
        algorithm: parameters.algorithm,
        cost: 1,
        keyLength: parameters.keyLength,
        keyPrefix: '0',
        deriveKey,
        hmacSignatureSecret: secret,
        expiresAt: parameters.expiresAt!,
        data: parameters.data!,
      })
      return { challenge: easy, solution: await solveChallenge({ challenge: easy, deriveKey }) }
    },
  }
}
