/** What the far gate's tests share: a clock in the test's hand, and looks. */

import type { Clock } from '../../base/clock.ts'
import type { GateStatus, ShardStatus } from '../gate.ts'

export const ITEM = '7'
export const FRESH_MS = 1_000

/** A clock that stands still until it is told to go on. */
export function handClock() {
  let elapsedMs = 1_000
  const clock: Clock & { go(ms: number): void; wallMs: number } = {
    wallMs: 5_000_000,
    now: () => clock.wallMs,
    elapsed: () => elapsedMs,
    sleep: () => Promise.reject(new Error('nobody sleeps here')),
    go(ms) {
      elapsedMs += ms
    },
  }
  return clock
}

export function look(fields: Partial<GateStatus> = {}): GateStatus {
  return {
    item: ITEM,
    epoch: 1,
    version: 1,
    left: 10,
    held: 0,
    buyers: 0,
    state: 'open',
    opensAtMs: 0,
    closesAtMs: 9e15,
    changeNo: 0,
    stateNo: 0,
    ...fields,
  }
}

export function placeLook(fields: Partial<ShardStatus> = {}): ShardStatus {
  const figures = { version: 1, left: 10, held: 0, buyers: 0, waitedMs: undefined, wants: 0, moveNo: 0, moved: 0 }
  return { place: `${ITEM}#0`, ...figures, ...fields }
}

export async function* pagesOf(...pages: readonly (readonly string[])[]): AsyncGenerator<readonly string[]> {
  for (const page of pages) yield page
}
