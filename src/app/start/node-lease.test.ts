import { describe, expect, test } from 'bun:test'
import { type Clock, nextTurn } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import type { NodeKind, Nodes } from '../../ledger/nodes.ts'
import { holdNode } from './node-lease.ts'

const LEASE_MS = 10_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A clock that only moves when it is told to, and wakes the sleepers that are due. */
function handClock() {
  let nowMs = 1_800_000_000_000
  let wrongMs = 0
  let sleepers: { atMs: number; wake: () => void }[] = []
  const clock: Clock = {
    now: () => nowMs + wrongMs,
    elapsed: () => nowMs,
    sleep: (ms, signal) =>
      new Promise(wake => {
        sleepers.push({ atMs: nowMs + ms, wake })
        signal?.addEventListener('abort', () => wake())
      }),
  }
  return {
    clock,
    /** The wall clock is set wrong by so much, and everything else goes on. */
    set(ms: number) {
      wrongMs = ms
    },
    async pass(ms: number) {
      nowMs += ms
      const due = sleepers.filter(one => one.atMs <= nowMs)
      sleepers = sleepers.filter(one => one.atMs > nowMs)
      for (const { wake } of due) wake()
      // Everything here answers at once: a turn of the event loop later all of it has happened.
      await new Promise<void>(nextTurn)
    },
  }
}

/** Node ids in memory, with a switch for each thing that can go wrong. */
function reference() {
  const seen = {
    kinds: [] as NodeKind[],
    fences: [] as (number | undefined)[],
    renewals: 0,
    givenBack: [] as number[],
    away: false,
    lost: false,
    held: -1,
  }
  let holdLease: Promise<void> = Promise.resolve()
  let holdRenewal: Promise<void> = Promise.resolve()
  const nodes: Nodes = {
    async lease(_holder, nowMs, kind, fenceMs) {
      seen.kinds.push(kind)
      seen.fences.push(fenceMs)
      await holdLease
      seen.held += 1
      seen.lost = false
      return { node: seen.held, fromMs: 0, untilMs: nowMs + LEASE_MS }
    },
    async renew(_node, _holder, nowMs) {
      seen.renewals += 1
      await holdRenewal
      if (seen.away) throw new Fault('ledger_away', 'away', { retryable: true })
      return seen.lost ? undefined : nowMs + LEASE_MS
    },
    giveBack: async node => void seen.givenBack.push(node),
    confirm: async () => true,
    unconfirmed: async () => ({ waiting: 0, lapsed: 0 }),
    holding: async () => ({ live: 0, unsettled: 0, firstEndMs: undefined, lastEndMs: undefined, longestFenceMs: 0 }),
    settle: async () => {},
    settleItems: async () => {},
  }
  return {
    nodes,
    seen,
    hold(what: 'leases' | 'renewals', until: Promise<void>) {
      if (what === 'leases') holdLease = until
      else holdRenewal = until
    },
  }
}

async function rig() {
  const hand = handClock()
  const ledger = reference()
  const stop = new AbortController()
  const parts = { nodes: ledger.nodes, clock: hand.clock, random: systemRandom, log: silent }
  const options = { kind: 'holding' as const, fenceMs: 4_000, renewEveryMs: 2_000 }
  return { ...hand, ...ledger, stop, held: await holdNode({ ...parts, ...options }, stop.signal) }
}

describe('a node id', () => {
  test('is leased with the kind of the process, and renewed at the given interval', async () => {
    const { pass, seen, held, stop } = await rig()
    expect(seen.kinds).toEqual(['holding'])
    expect([held.node(), held.healthy()]).toEqual([0, true])
    for (let i = 0; i < 3; i++) await pass(2_000)
    expect(seen.renewals).toBe(3)
    stop.abort()
    await held.stopped
  })

  test('that could not be renewed is not healthy when its lease has run out, and is again once it is renewed', async () => {
    const { pass, seen, held } = await rig()
    seen.away = true
    for (let i = 0; i < 4; i++) await pass(2_000)
    expect(held.healthy()).toBe(true)
    await pass(2_000)
    expect(held.healthy()).toBe(false)
    seen.away = false
    await pass(2_000)
    expect(held.healthy()).toBe(true)
  })

  test('that another process has now is replaced by a new one', async () => {
    const { pass, seen, held } = await rig()
    seen.lost = true
    await pass(20_000)
    expect([held.node(), held.healthy()]).toEqual([1, true])
  })

  test('is replaced by a new one when the clock was an hour ahead and is right again: no restart is needed', async () => {
    const { pass, set, held } = await rig()
    set(3_600_000)
    await pass(2_000)
    const ahead = held.ids.next()
    set(0)
    expect([held.healthy(), held.ids.healthy()]).toEqual([false, false])
    await pass(2_000)
    expect([held.node(), held.healthy(), held.ids.healthy()]).toEqual([1, true, true])
    expect(held.ids.next()).not.toBe(ahead)
  })

  test('is waited for when the clock went back a little: it catches up sooner than a new id would help', async () => {
    const { pass, set, held } = await rig()
    held.ids.next()
    set(-1_000)
    await pass(500)
    expect(held.healthy()).toBe(false)
    await pass(1_500)
    expect([held.node(), held.healthy()]).toEqual([0, true])
  })

  test('is given back while a renewal is in flight, and that renewal leases no other', async () => {
    const { pass, seen, held, hold } = await rig()
    const answer = Promise.withResolvers<void>()
    hold('renewals', answer.promise)
    seen.lost = true
    await pass(2_000)
    const giving = held.giveBack()
    answer.resolve()
    await giving
    expect(seen.givenBack).toEqual([0])
    expect(seen.kinds).toHaveLength(1)
    await pass(20_000)
    expect(seen.renewals, 'an id that was given back is not renewed').toBe(1)
  })

  test('that is just being replaced is given back as the new one', async () => {
    const { pass, seen, held, hold } = await rig()
    const answer = Promise.withResolvers<void>()
    hold('leases', answer.promise)
    seen.lost = true
    await pass(2_000)
    expect(seen.kinds).toHaveLength(2)
    expect(seen.fences).toEqual([4_000, 4_000])
    const giving = held.giveBack()
    answer.resolve()
    await giving
    expect(seen.givenBack).toEqual([1])
  })
})
