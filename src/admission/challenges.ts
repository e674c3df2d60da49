/** What stands before a ticket: nothing, a challenge to solve, or a solution that does not count. Counts what it has made and seen. */

import type { Meters } from '../base/meters.ts'
import type { BuyerId, ItemId, SaleId } from '../domain/ids.ts'
import type { SaleChallenge } from '../domain/sale.ts'

/** What a challenge is for. */
export interface ChallengeSubject {
  readonly sale: SaleId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
}

/**
 * malformed  not what a solver sends                  forged   we have not made this challenge, or it was changed
 * expired    made too long ago                        foreign  made for another sale, item, buyer or attempt
 * wrong      the challenge is ours, and not solved
 */
export type ChallengeVerdict = 'passed' | 'malformed' | 'forged' | 'expired' | 'foreign' | 'wrong'

/** waived   the provider did not answer, and the settings say allow     unknown  it did not, and they say deny; or too many are being checked */
export type ChallengeCheck = ChallengeVerdict | 'waived' | 'unknown'

/** What the client has to do: a search for a key, or a provider's widget. */
type ChallengeKind = 'proof_of_work' | 'provider'

export type ChallengeAsked =
  | { readonly kind: 'challenge_required'; readonly challengeKind: ChallengeKind; readonly challenge: unknown }
  | { readonly kind: 'busy' }
  | { readonly kind: 'challenge_invalid'; readonly why: Exclude<ChallengeVerdict, 'passed'> }

export type Challenges = ReturnType<typeof createChallenges>

/** Whose widget takes the place of the proof of work. */
export interface ChallengeProvider {
  readonly name: 'turnstile' | 'hcaptcha'
  readonly siteKey: string
  readonly secret: string
  /** On whose pages it may have been solved. */
  readonly hostnames: readonly string[]
  readonly verifyUrl: string
  readonly script: string
  /** What a page's security policy must allow for the widget. */
  readonly hosts: readonly string[]
  readonly timeoutMs: number
  readonly whenDown: 'deny' | 'allow'
}

interface Parts {
  readonly office: {
    readonly kind: ChallengeKind
    /** As the client gets it. */
    make(subject: ChallengeSubject, difficulty: number): Promise<unknown>
    check(subject: ChallengeSubject, solved: unknown): Promise<ChallengeCheck>
  }
  readonly difficulty: { next(base: number, address: string, attempt: number): number }
  readonly meters: Meters
}

export function createChallenges({ office, difficulty, meters }: Parts) {
  return {
    /** Undefined: the ticket may be given. @param solved what the buyer sent; undefined: nothing yet */
    async before(
      asked: SaleChallenge,
      subject: ChallengeSubject,
      address: string,
      solved: unknown,
    ): Promise<ChallengeAsked | undefined> {
      if (asked === undefined) return undefined
      if (solved === undefined) {
        const base = asked === 'auto' ? 1 : asked
        const challenge = await office.make(subject, difficulty.next(base, address, subject.attempt))
        meters.count('challenges', 'made')
        return { kind: 'challenge_required', challengeKind: office.kind, challenge }
      }
      const why = await office.check(subject, solved)
      meters.count('challenges', why)
      if (why === 'unknown') return { kind: 'busy' }
      return why === 'passed' || why === 'waived' ? undefined : { kind: 'challenge_invalid', why }
    },
  }
}
