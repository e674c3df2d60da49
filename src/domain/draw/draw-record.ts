/**
 * What anyone may download of a draw, and the check of it. No buyer is in it. Proofs are kept side by side in one array: a million joins are 37 MB.
 * The check recomputes everything from the seed, the beacon and the proofs, and names the first difference.
 */

import { fromHex, HASH_BYTES, toHex } from './draw-bytes.ts'
import { type Beacon, commitmentOf, drawKey } from './draw-key.ts'
import { drawOrder } from './drawn-order.ts'
import { chainStart, DRAW_ALGORITHM, JoinChain } from './join-chain.ts'

export interface DrawRecord {
  readonly algorithm: string
  readonly sale: string
  /** Hex, like root and seed. */
  readonly commitment: string
  readonly root: string
  readonly seed: string
  /** When the joins were sealed, unix milliseconds. */
  readonly sealsAtMs: number
  readonly beacon: Beacon | undefined
  /** 32 bytes for each join, in the order of their numbers. */
  readonly proofs: Uint8Array
  /** `places` in the text: at [0] the number with place 1, and so on. */
  readonly order: Uint32Array
}

/** What a buyer was given when he joined. */
export interface JoinReceipt {
  readonly number: number
  readonly proof: string
  readonly head: string
}

interface Progress {
  readonly done: number
  readonly total: number
}

const CHAIN_STEP = 4096

/** @returns the first difference in words, or undefined if the record is right */
export function* checkRecord(record: DrawRecord, receipt?: JoinReceipt): Generator<Progress, string | undefined> {
  const { algorithm, sale, beacon, proofs } = record
  if (algorithm !== DRAW_ALGORITHM) return `the algorithm is "${algorithm}", this program knows "${DRAW_ALGORITHM}"`
  const commitment = fromHex(record.commitment)
  const root = fromHex(record.root)
  const seed = fromHex(record.seed)
  if (commitment === undefined) return 'commitment: not 64 digits of lower-case hex'
  if (root === undefined) return 'root: not 64 digits of lower-case hex'
  if (seed === undefined) return 'seed: not 64 digits of lower-case hex'
  if (toHex(commitmentOf(seed)) !== record.commitment) return 'seed: its SHA-256 is not the commitment'

  const joins = proofs.length / HASH_BYTES
  const total = joins * 2
  const chain = new JoinChain(chainStart({ sale, commitment, beacon }))
  if (receipt !== undefined && receipt.number > joins)
    return `receipt: number ${receipt.number} is not among the ${joins} sealed joins`
  for (let number = 1; number <= joins; number++) {
    const proof = proofs.subarray((number - 1) * HASH_BYTES, number * HASH_BYTES)
    chain.add(proof)
    if (number === receipt?.number) {
      if (toHex(proof) !== receipt.proof) return `join ${number}: its proof is not the one of the receipt`
      if (toHex(chain.head()) !== receipt.head)
        return `join ${number}: a join before it is not what it was when the receipt was given`
    }
    if (number % CHAIN_STEP === 0) yield { done: number, total }
  }
  const head = toHex(chain.head())
  if (head !== record.root) return `root: ${joins} joins lead to ${head}: a join was changed, added, removed or moved`

  if (record.order.length !== joins) return `places: there are ${record.order.length}, and ${joins} joins`
  const steps = drawOrder(drawKey(sale, seed, root, beacon), joins)
  let step = steps.next()
  for (let done = joins; !step.done; done += 512) {
    yield { done: Math.min(done, total), total }
    step = steps.next()
  }
  const at = step.value.findIndex((number, i) => number !== record.order[i])
  if (at >= 0) return `place ${at + 1}: number ${record.order[at]} stands there, drawn was number ${step.value[at]}`
  return undefined
}
