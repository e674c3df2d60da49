/**
 * The chain over the joins of a line, in the order of their numbers. Numbers are 1, 2, 3, … without gaps; the n-th link is for number n:
 *
 *     proof(n) = HMAC-SHA-256(salt(n), framed(sale, n in decimal, buyer))
 *     head(0)  = SHA-256(framed(algorithm, sale, commitment, beacon's source, beacon's round in decimal))    source and round empty where there is none
 *     head(n)  = SHA-256(head(n-1) ‖ proof(n))                                                               32 and 32 bytes
 *     root     = head of the last join before the seal
 *
 * So a head is a receipt: it fixes every join before it, the commitment and the beacon that was named. A buyer is not named by a proof, because the salt is
 * known to that buyer alone. A join that is left stays in the chain and keeps its number: leaving changes no head, no root and no other buyer's place.
 * After the seal the chain goes on from the root, and later joins stand behind the drawn ones: their place is their number.
 */

import { sha256 } from '../../base/sha256.ts'
import type { BuyerId, SaleId } from '../ids.ts'
import { framed, HASH_BYTES, hashOf, keyedHashOf } from './draw-bytes.ts'

/** Names every rule of this folder together. A change of any of them is a new name. */
export const DRAW_ALGORITHM = 'stampede-draw-1'

/** Where the value will come from that does not exist yet when the joins are sealed; named before the line opens. */
export interface BeaconPromise {
  /** `drand`, or a public source in the operator's words. */
  readonly source: string
  /** Of drand: the round, later than the seal. */
  readonly round?: number | undefined
}

/** What is published when the line opens. */
interface DrawPromise {
  readonly sale: SaleId
  readonly commitment: Uint8Array
  readonly beacon: BeaconPromise | undefined
}

/** The head before the first join. */
export function chainStart({ sale, commitment, beacon }: DrawPromise): Uint8Array {
  const round = beacon?.round === undefined ? '' : String(beacon.round)
  return hashOf(framed(DRAW_ALGORITHM, sale, commitment, beacon?.source ?? '', round))
}

/**
 * A salt that need not be stored: made from a secret of the line that is never shown, so it is the same whenever the buyer asks, and tells nothing about
 * any other. Not made from the seed, which is shown after the draw.
 */
export function joinSalt(saltKey: Uint8Array, sale: SaleId, number: number, buyer: BuyerId): Uint8Array {
  return keyedHashOf(saltKey, framed(sale, String(number), buyer))
}

/** What the record shows of a join. */
export function joinProof(salt: Uint8Array, sale: SaleId, number: number, buyer: BuyerId): Uint8Array {
  return keyedHashOf(salt, framed(sale, String(number), buyer))
}

/** Adds joins one by one. A million take a fraction of a second. */
export class JoinChain {
  /** The head, and behind it room for the next proof. */
  readonly #link = new Uint8Array(2 * HASH_BYTES)
  readonly #head = this.#link.subarray(0, HASH_BYTES)

  /** @param head where to go on: the start, or the head of a stored join */
  constructor(head: Uint8Array) {
    this.#head.set(head)
  }

  add(proof: Uint8Array): void {
    this.#link.set(proof, HASH_BYTES)
    sha256(this.#link, this.#head)
  }

  /** A copy: the next join does not change it. */
  head(): Uint8Array {
    return this.#head.slice()
  }
}
