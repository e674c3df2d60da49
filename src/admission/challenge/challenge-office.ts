/**
 * Challenges before a ticket: proof of work, made and checked without state. A challenge is bound to sale, item, buyer, attempt and expiry,
 * and signed, so any edge with the secret can check it, and its solution is worth exactly one ticket: the same solution again brings the
 * same ticket to the same buyer, and nothing to anyone else. So nothing has to be remembered, and there is no store to fill.
 *
 * The work is a search for a key (PBKDF2) that begins with given digits; checking is one derivation of the same cost. Forged, expired
 * and foreign solutions are refused before that derivation. Does not decide how hard a challenge is (`difficulty.ts`), nor who needs one.
 */

import { createHmac } from 'node:crypto'
import { type Challenge, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { ChallengeSubject, ChallengeVerdict } from '../challenges.ts'

const ALGORITHM = 'PBKDF2/SHA-256'
const KEY_BYTES = 32
const SALT_BYTES = 16
/** Long enough to fetch it early and solve it on a slow phone. */
const LASTS_MS = 10 * 60_000
/** A difficulty of 1: 256 tries of 1,000 iterations on average, some 50 ms of a server's core and a few tenths of a second on a phone. */
const ITERATIONS = 1_000
/** From here on a longer prefix makes it harder, not a dearer try: the check costs one try, and must stay cheap. */
const LONGER_FROM = 8

const hex = (length: number) =>
  z
    .string()
    .regex(/^[0-9a-f]+$/)
    .length(length)

const payloadSchema = z.object({
  challenge: z.object({
    parameters: z.strictObject({
      algorithm: z.literal(ALGORITHM),
      cost: z.int().positive(),
      data: z.strictObject({ attempt: z.int(), buyer: z.string(), item: z.string(), sale: z.string() }),
      expiresAt: z.int().positive(),
      keyLength: z.literal(KEY_BYTES),
      keyPrefix: z.string().regex(/^0{1,8}$/),
      nonce: hex(2 * SALT_BYTES),
      salt: hex(2 * SALT_BYTES),
    }),
    signature: hex(64),
  }),
  solution: z.object({ counter: z.int().min(0), derivedKey: hex(2 * KEY_BYTES) }),
})

interface Options {
  readonly secret: string
  readonly clock: Clock
  readonly random: Random
}

export function createChallengeOffice({ secret, clock, random }: Options) {
  return {
    kind: 'proof_of_work' as const,

    /** As the client gets it. @param difficulty 1 and up; twice as much is twice the work */
    async make({ sale, item, buyer, attempt }: ChallengeSubject, difficulty: number): Promise<Challenge> {
      const longer = difficulty >= LONGER_FROM
      const chance = Buffer.from(random.bytes(2 * SALT_BYTES)).toString('hex')
      // As altcha-lib makes it, in a tenth of its time: everyone may ask for one. It signs the JSON with its members in this order, that of the alphabet.
      const parameters = {
        algorithm: ALGORITHM,
        cost: Math.max(1, Math.round(longer ? (ITERATIONS * difficulty) / 16 : ITERATIONS * difficulty)),
        data: { attempt, buyer, item, sale },
        expiresAt: Math.floor((clock.now() + LASTS_MS) / 1000),
        keyLength: KEY_BYTES,
        keyPrefix: longer ? '000' : '00',
        nonce: chance.slice(0, 2 * SALT_BYTES),
        salt: chance.slice(2 * SALT_BYTES),
      }
      const signature = createHmac('sha256', secret).update(JSON.stringify(parameters)).digest('hex')
      return { parameters, signature }
    },

    async check(subject: ChallengeSubject, payload: unknown): Promise<ChallengeVerdict> {
      const parsed = payloadSchema.safeParse(payload)
      if (!parsed.success) return 'malformed'
      const { challenge, solution } = parsed.data
      const { expiresAt, data } = challenge.parameters
      if (expiresAt * 1000 < clock.now()) return 'expired'
      const isOwn =
        data.buyer === subject.buyer &&
        data.item === subject.item &&
        data.sale === subject.sale &&
        data.attempt === subject.attempt
      if (!isOwn) return 'foreign'
      const result = await verifySolution({ challenge, solution, deriveKey, hmacSignatureSecret: secret })
      if (result.verified) return 'passed'
      if (result.expired) return 'expired'
      return result.invalidSignature ? 'forged' : 'wrong'
    },
  }
}
