/**
 * A gate whose replies get lost: wraps any gate and, where the given function says so, answers `stale`, `busy` or `unknown` instead
 * of what the gate said. For tests and simulations of what stands behind a gate.
 * Guarantees: what is not named by the decision passes through untouched; `look` always passes, it has no such answer.
 * Does not delay or reorder calls, and never makes up a reservation.
 */

import { assert } from '../../base/assert.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Gate } from '../gate.ts'

/**
 * stale         the gate is not the one it was (E1); it never saw the call
 * busy          the gate is at a bound; it never saw the call (reserve only)
 * unknown       the call was lost on its way: no effect behind the answer
 * unknown_done  the reply was lost on its way: the effect is there
 */
export type GateMishap = 'stale' | 'busy' | 'unknown' | 'unknown_done'

export type GateVerb = Exclude<keyof Gate, 'status'>

/** Undefined: let the call pass. */
type DecideMishap = (verb: GateVerb, item: ItemId) => GateMishap | undefined

export function createFaultyGate(gate: Gate, decide: DecideMishap): Gate {
  type Lost = { readonly status: 'stale' } | { readonly status: 'unknown' }

  async function pass<R>(verb: GateVerb, item: ItemId, call: () => Promise<R>): Promise<R | Lost> {
    const mishap = decide(verb, item)
    if (mishap === undefined) return call()
    assert(mishap !== 'busy', `${verb} has no answer "busy"`)
    if (mishap === 'unknown_done') await call()
    return { status: mishap === 'stale' ? 'stale' : 'unknown' }
  }

  async function reserve(item: ItemId, epoch: Epoch, asks: Parameters<Gate['reserve']>[2]) {
    const mishap = decide('reserve', item)
    if (mishap === undefined) return gate.reserve(item, epoch, asks)
    if (mishap === 'unknown_done') await gate.reserve(item, epoch, asks)
    if (mishap === 'stale') return { status: 'stale', epoch } as const
    return { status: mishap === 'busy' ? 'busy' : 'unknown' } as const
  }

  return {
    status: items => gate.status(items),
    reserve,
    release: (item, epoch, releases) => pass('release', item, () => gate.release(item, epoch, releases)),
    find: (item, buyer, toShow) => pass('find', item, () => gate.find(item, buyer, toShow)),
    change: (item, epoch, no, delta) => pass('change', item, () => gate.change(item, epoch, no, delta)),
    set: (item, epoch, windowState) => pass('set', item, () => gate.set(item, epoch, windowState)),
    fence: (item, epoch) => pass('fence', item, () => gate.fence(item, epoch)),
    load: (item, epoch, holdings) => pass('load', item, () => gate.load(item, epoch, holdings)),
    activate: (item, epoch, terms) => pass('activate', item, () => gate.activate(item, epoch, terms)),
  }
}
