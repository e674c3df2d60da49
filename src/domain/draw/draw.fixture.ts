/** Draws for tests: a line of made-up buyers with everything that a buyer and a reader of the record would have. */

import { seededRandom } from '../../base/random.ts'
import { toHex } from './draw-bytes.ts'
import { type Beacon, commitmentOf, drawKey } from './draw-key.ts'
import type { DrawRecord, JoinReceipt } from './draw-record.ts'
import { drawOrder } from './drawn-order.ts'
import { chainStart, DRAW_ALGORITHM, JoinChain, joinProof, joinSalt } from './join-chain.ts'

interface MadeUpDraw {
  readonly record: DrawRecord
  readonly receipts: readonly (JoinReceipt & { readonly buyer: string; readonly salt: string })[]
}

export function runSteps<R>(steps: Iterator<unknown, R>): R {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

export function makeDraw(
  joins: number,
  random: number,
  beacon?: Beacon,
  buyers = (n: number) => `buyer-${n}`,
): MadeUpDraw {
  const chance = seededRandom(random)
  const [seed, saltKey, sale] = [chance.bytes(32), chance.bytes(32), '8041']
  const commitment = commitmentOf(seed)
  const chain = new JoinChain(chainStart({ sale, commitment, beacon }))
  const proofs = new Uint8Array(joins * 32)
  const receipts = Array.from({ length: joins }, (_, at) => {
    const [number, buyer] = [at + 1, buyers(at + 1)]
    const salt = joinSalt(saltKey, sale, number, buyer)
    const proof = joinProof(salt, sale, number, buyer)
    proofs.set(proof, at * 32)
    chain.add(proof)
    return { number, buyer, salt: toHex(salt), proof: toHex(proof), head: toHex(chain.head()) }
  })
  const root = chain.head()
  const record: DrawRecord = {
    algorithm: DRAW_ALGORITHM,
    sale,
    commitment: toHex(commitment),
    root: toHex(root),
    seed: toHex(seed),
    sealsAtMs: Date.UTC(2026, 10, 11, 9, 59),
    beacon,
    proofs,
    order: runSteps(drawOrder(drawKey(sale, seed, root, beacon), joins)),
  }
  return { record, receipts }
}
