/**
 * What the places are made from:
 *
 *     commitment = SHA-256(seed)                                             published when the line opens
 *     key        = SHA-256(framed(algorithm, sale, seed, root, beacon))      beacon: its value as text, empty where there is none
 *
 * The seed is fixed by the commitment before the first join, the root by the joins. Without a beacon, an operator who knows the seed could try out last
 * joins until the places suit him; with one, the key depends on a value that does not exist yet when the joins are sealed.
 */

import type { SaleId } from '../ids.ts'
import { framed, hashOf } from './draw-bytes.ts'
import { type BeaconPromise, DRAW_ALGORITHM } from './join-chain.ts'

/** The value of the named source, once it exists. */
export interface Beacon extends BeaconPromise {
  /** Of drand: the randomness of the round in hex. Else: what the operator entered, as it was entered. */
  readonly value: string
  /** Of drand: what proves the value, in hex. */
  readonly signature?: string | undefined
}

export function commitmentOf(seed: Uint8Array): Uint8Array {
  return hashOf(seed)
}

export function drawKey(sale: SaleId, seed: Uint8Array, root: Uint8Array, beacon: Beacon | undefined): Uint8Array {
  return hashOf(framed(DRAW_ALGORITHM, sale, seed, root, beacon?.value ?? ''))
}
