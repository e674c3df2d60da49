/** An operator enters the value of the beacon that a draw has named: after the seal, once. The leader draws with it in its next round. */

import { DRAND_SOURCE } from '../../domain/draw/drand-rounds.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { LineDraws } from '../../ledger/line-draws.ts'

type BeaconOutcome =
  | { readonly kind: 'done' | 'missing' }
  | { readonly kind: 'not_sealed'; readonly sealsAtMs: number }
  | { readonly kind: 'not_taken'; readonly why: string }

export async function enterBeacon(
  draws: Pick<LineDraws, 'find' | 'seal' | 'setBeacon'>,
  sale: SaleId,
  value: string,
  by: string,
): Promise<BeaconOutcome> {
  // The leader may be late: sealing at its time is anyone's right.
  await draws.seal(sale)
  const [draw] = await draws.find([sale])
  if (draw === undefined) return { kind: 'missing' }
  const { promise, sealed, sealsAtMs } = draw
  if (promise === undefined) return { kind: 'not_taken', why: 'The draw names no beacon.' }
  if (promise.source === DRAND_SOURCE)
    return { kind: 'not_taken', why: 'The beacon is drand: it is fetched, not entered.' }
  if (sealed === undefined) return { kind: 'not_sealed', sealsAtMs }
  if (await draws.setBeacon(sale, { ...promise, value }, by)) return { kind: 'done' }
  const [now] = await draws.find([sale])
  return now?.beacon?.value === value
    ? { kind: 'done' }
    : { kind: 'not_taken', why: 'Another value was entered before.' }
}
