/** What the gate cache's tests share: a cache with a clock in the test's hand, statuses, and reloads with pages of the test's making. */

import type { Clock } from '../../base/clock.ts'
import type { GateStatus, Holding, ShardStatus } from '../gate.ts'
import { createGateCache } from './gate-cache.ts'

export const ITEM = '7'
export const FRESH_MS = 1_000

type Pages = AsyncIterable<readonly string[]> | Iterable<readonly string[]>

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

/** Every text has a hash of its own. */
function exactHash() {
  const numbers = new Map<string, number>()
  const hash = {
    low: 0,
    high: 0,
    read(text: string) {
      hash.low = numbers.get(text) ?? numbers.size
      numbers.set(text, hash.low)
    },
  }
  return hash
}

/** @param pagesOf the buyers that the gate shows of a shard when its filter is read again */
export function openCache(
  options: { readonly buyersMax?: number } = {},
  pagesOf?: (shard: string, epoch: number) => Pages,
) {
  const clock = handClock()
  let next: Pages = []
  let read: string | undefined
  const books = {
    async *holdings(shard: string, epoch: number): AsyncGenerator<readonly Holding[]> {
      read = shard
      for await (const page of pagesOf?.(shard, epoch) ?? next) yield page.map(buyer => ({ buyer }) as Holding)
    },
  }
  const cache = createGateCache({ clock, hash: exactHash(), books, freshMs: FRESH_MS, ...options })
  return {
    clock,
    cache,
    /** Two rounds: the first notes which filters are incomplete, the second reads one of them again. Which one; undefined: none. */
    async reload(pages: Pages = [], epoch = 1): Promise<string | undefined> {
      next = pages
      read = undefined
      // Only the filter of an item that clicks ask about is read again.
      cache.knows(ITEM, 'a stranger')
      for (let i = 0; i < 2; i++) await cache.reloadFilters(() => epoch)
      return read
    },
  }
}

export function status(fields: Partial<GateStatus> = {}): GateStatus {
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

export function shardStatus(fields: Partial<ShardStatus> = {}): ShardStatus {
  const figures = { version: 1, left: 10, held: 0, buyers: 0, waitedMs: undefined, wants: 0, moveNo: 0, moved: 0 }
  return { shard: `${ITEM}#0`, ...figures, ...fields }
}
