/**
 * The check before a ticket. A proof of work is done here, by the platform's own cryptography, a slice at a time, so that a page goes on
 * answering. A provider's widget is the page's business: it hands over how to show it.
 */

import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'
import { StampedeFailure } from './failure.ts'

/** What `challenge_required` says of a provider's widget. */
export interface WidgetTerms {
  readonly provider: string
  readonly siteKey: string
  readonly script: string
  readonly action: string
  readonly cdata: string
}

/** Shows the widget, and resolves with the token it gave; undefined: it gave none. */
export type ShowWidget = (terms: WidgetTerms) => Promise<string | undefined>

/** What to send with the next request for the ticket. */
export async function solve(refusal: StampedeFailure, showWidget: ShowWidget | undefined): Promise<unknown> {
  const { challengeKind, challenge } = refusal.more
  if (challengeKind === 'provider') {
    const token = await showWidget?.(challenge as WidgetTerms)
    if (token === undefined)
      throw new StampedeFailure('not_solved', 'the sale asks for a check by a widget, and it was not passed')
    return { token }
  }
  const solution = await solveChallenge({ challenge: challenge as Challenge, deriveKey, timeout: 0 })
  if (solution === null)
    throw new StampedeFailure('not_solved', 'the proof of work before the ticket could not be done here')
  return { challenge, solution }
}
