/** stripe-mock, Stripe's own server for tests: it checks requests against Stripe's description of its API. */

import { ensureGoProgram, type GoProgram } from '../go-program.ts'

const STRIPE_MOCK: GoProgram = {
  name: 'stripe-mock',
  module: 'github.com/stripe/stripe-mock',
  version: 'v0.203.0',
  goVersionMin: 22,
  needs: "the tests of Stripe's requests",
  missingVariable: 'STAMPEDE_TEST_STRIPE_MOCK_MISSING',
}

export const STRIPE_MOCK_MISSING_VARIABLE = STRIPE_MOCK.missingVariable

/** The program's path. */
export function ensureStripeMock(say: (line: string) => void, paths?: readonly string[]): string {
  return ensureGoProgram(STRIPE_MOCK, say, paths)
}
