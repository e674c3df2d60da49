/** Random lives of one item: what may happen to a gate, in any order. Whoever lives it turns each step into a call that fits its moment. */

import fc from 'fast-check'
import type { GateState, Release } from '../gate.ts'
import type { GateMishap } from './faulty-gate.ts'

export const BUYERS = ['a', 'b', 'c:1', 'd', '🐎']

/** `epoch` is added to the one that fits. Times are hundredths of a tick. */
export type Call =
  | { verb: 'reserve'; epoch: number; asks: { buyer: string; attempt: number; quantity: number; reuse: number }[] }
  | { verb: 'release'; epoch: number; releases: { pick: number; outcome: Release['outcome']; wrong: number }[] }
  | { verb: 'change'; epoch: number; no: number; delta: number }
  | { verb: 'set'; epoch: number; no: number; state: GateState; opens: number; lasts: number }
  | { verb: 'fence'; epoch: number }
  | { verb: 'load'; epoch: number; picks: number[]; flaw: number }
  | { verb: 'activate'; epoch: number; left: number; changeNo: number; flaw: number }
  | { verb: 'find'; epoch: number; buyer: string }
type Event =
  | { verb: 'rebuild'; pages: number; few: boolean }
  | { verb: 'changes'; count: number; delta: number }
  | { verb: 'clock'; by: number }
  | { verb: 'drop' }
  | Move
export interface Move {
  readonly verb: 'move'
  readonly from: number
  readonly to: number
  readonly units: number
  readonly stop: boolean
  readonly again: boolean
}
export interface Planned {
  readonly step: Call | Event
  readonly mishap: GateMishap | undefined
}

const upTo = (max: number) => fc.integer({ min: 0, max })
const between = (min: number, max: number) => fc.integer({ min, max })
const some = <T>(one: fc.Arbitrary<T>, maxLength: number) => fc.array(one, { maxLength })
const mostly = <T>(usual: T, ...rare: T[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 3, arbitrary: fc.constantFrom(...rare) })

function kind<V extends string, R extends object>(
  weight: number,
  verb: V,
  fields: { [K in keyof R]: fc.Arbitrary<R[K]> },
) {
  return { weight, arbitrary: fc.record(fields).map(rest => ({ verb, ...(rest as R) })) }
}

const buyer = fc.constantFrom(...BUYERS)
const epoch = mostly(0, -1, 1, 2)
/** Of an epoch that is being built. */
const begun = fc.constantFrom(-1, 0, 0, 0, 1, 1, 2)
const outcome = fc.constantFrom('closed' as const, 'refused' as const, 'gone' as const)
const wish = fc.record({
  buyer,
  attempt: mostly(1, 2, 2, 3, 4),
  quantity: mostly(1, 2, 3, 9),
  reuse: fc.constantFrom(-1, -1, -1, 0, 1, 2),
})
const givenBack = fc.record({ pick: upTo(40), outcome, wrong: mostly(0, 1, 2, 3) })

const step: fc.Arbitrary<Call | Event> = fc.oneof(
  kind(10, 'reserve', { epoch, asks: some(wish, 6) }),
  kind(7, 'release', { epoch, releases: some(givenBack, 4) }),
  kind(5, 'change', { epoch, no: mostly(1, 0, -1, -1, -1, 2, 2, -64, -63), delta: between(-5, 5) }),
  kind(3, 'set', {
    epoch,
    no: mostly(1, 0, 0, -1, -1, 2),
    state: fc.constantFrom<GateState>('open', 'open', 'paused', 'paused', 'over'),
    opens: between(-300, 200),
    lasts: between(1, 900),
  }),
  kind(1, 'fence', { epoch }),
  kind(2, 'load', { epoch: begun, picks: some(upTo(40), 6), flaw: mostly(0, 1, 2, 3) }),
  kind(2, 'activate', { epoch: begun, left: upTo(8), changeNo: upTo(3), flaw: mostly(0, 1, -1) }),
  kind(1, 'find', { epoch, buyer }),
  kind(4, 'rebuild', { pages: between(1, 3), few: mostly(false, true) }),
  kind(1, 'changes', { count: upTo(70), delta: between(-1, 1) }),
  kind(2, 'clock', { by: fc.oneof(between(-200, 250), fc.constantFrom(-2_001, -2_000, 2_500)) }),
  kind(1, 'drop', {}),
  kind(6, 'move', { from: upTo(7), to: upTo(7), units: between(1, 4), stop: fc.boolean(), again: fc.boolean() }),
)
const mishap = mostly<GateMishap | undefined>(undefined, 'stale', 'busy', 'unknown', 'unknown_done')

export function lives(stepsMax: number): fc.Arbitrary<Planned[]> {
  return fc.array(fc.record({ step, mishap }), { maxLength: stepsMax, size: 'max' })
}
