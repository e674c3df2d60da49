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

export type ChallengeAsked =
  | { readonly kind: 'challenge_required'; readonly challenge: unknown }
  | { readonly kind: 'challenge_invalid'; readonly why: Exclude<ChallengeVerdict, 'passed'> }

export type Challenges = ReturnType<typeof createChallenges>

interface Parts {
  readonly office: {
    /** As the client gets it. */
    make(subject: ChallengeSubject, difficulty: number): Promise<unknown>
    check(subject: ChallengeSubject, solved: unknown): Promise<ChallengeVerdict>
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
        return { kind: 'challenge_required', challenge }
      }
      const why = await office.check(subject, solved)
      meters.count('challenges', why)
      return why === 'passed' ? undefined : { kind: 'challenge_invalid', why }
    },
  }
}
