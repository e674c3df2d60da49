/**
 * A draw's record as JSON text, piece by piece: a million joins are never in memory as text at once. The same record always gives the same bytes.
 *
 *     {"algorithm","sale","commitment","root","seed","sealsAt","beacon"?,"note"?,"joins":[{"number","proof","left"?},…],"places":[number,…]}
 */

import { toRfc3339 } from '../../base/clock.ts'
import { toHex } from '../../domain/draw/draw-bytes.ts'
import type { DrawRecord } from '../../domain/draw/draw-record.ts'

const NO_BEACON =
  'There was no beacon: an operator who knew the seed could have tried out the last joins until the places suited him. Nothing here can rule that out.'

/** Places in one piece of text. */
const CHUNK = 4096

/** What stands in a record before its lists. */
type RecordTop = Omit<DrawRecord, 'proofs' | 'order'>

/** A join as anyone may see it. */
interface ShownJoin {
  readonly proof: Uint8Array
  /** Before the seal. */
  readonly left: boolean
}

/** @param pages all joins, in the order of their numbers */
export async function* recordText(
  top: RecordTop,
  pages: AsyncIterable<readonly ShownJoin[]>,
  order: Uint32Array,
): AsyncGenerator<string> {
  const { algorithm, sale, commitment, root, seed, sealsAtMs, beacon } = top
  const fields = {
    algorithm,
    sale,
    commitment,
    root,
    seed,
    sealsAt: toRfc3339(sealsAtMs),
    ...(beacon === undefined ? { note: NO_BEACON } : { beacon }),
  }
  yield `${JSON.stringify(fields).slice(0, -1)},"joins":[`
  let number = 0
  for await (const page of pages) {
    let text = ''
    for (const { proof, left } of page) {
      number += 1
      text += `${number === 1 ? '' : ','}\n{"number":${number},"proof":"${toHex(proof)}"${left ? ',"left":true' : ''}}`
    }
    yield text
  }
  yield '\n],"places":['
  for (let at = 0; at < order.length; at += CHUNK) {
    yield `${at === 0 ? '' : ','}${order.subarray(at, at + CHUNK).join(',')}`
  }
  yield ']}\n'
}
