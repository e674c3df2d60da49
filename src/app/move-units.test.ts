import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ledgerForFile } from '../../test/harness/flow-stage.ts'
import { systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { auditItems } from '../flows/check/audit-sale.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import type { LiveItem } from '../flows/sell/live-item.ts'
import type { ChangeReply, ShardStatus } from '../gate/gate.ts'
import { moveUnits } from '../gate/sharded/move-units.ts'
import type { ShardGate } from '../gate/sharded/shard-gate.ts'
import { createMoves } from '../ledger/postgres/stock.ts'
import { soldAtGate } from './compose-shards.ts'

const SHARDS = 4
const UNITS = 100
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** lost: it never arrived; late: it did, the answer is lost; away: nobody answers; stale: not the gate it was. */
type Mishap = 'lost' | 'late' | 'away' | 'stale'
type Step = 'take' | 'give' | 'ask' | 'journal' | 'done'

const ledger = ledgerForFile()

/** Shards that know units and numbers, and nothing else. */
function openShards(item: string, epoch: number, lefts: readonly number[]) {
  const shards = lefts.map(left => ({ left, wants: 0, waitedMs: undefined as number | undefined, moveNo: 0, moved: 0 }))
  const named = new Map(shards.map((shard, i) => [`${item}#${i}`, shard]))
  const moving = { epoch, away: false }
  const mover: Pick<ShardGate, 'move'> = {
    async move(name, under, no, delta): Promise<ChangeReply> {
      const shard = named.get(name)
      if (shard === undefined) throw new Error(`there is no shard ${name}`)
      if (under !== moving.epoch) return { status: 'stale' }
      if (no < shard.moveNo) return { status: 'past', changeNo: shard.moveNo }
      if (no > shard.moveNo) {
        shard.moved = Math.max(delta, -shard.left)
        shard.left += shard.moved
        shard.moveNo = no
      }
      return { status: 'done', taken: shard.moved }
    },
  }
  return {
    shards,
    moving,
    mover,
    left: () => shards.reduce((sum, { left }) => sum + left, 0),
    status() {
      if (moving.away) throw new Fault('gate_away', 'the gate does not answer', { retryable: true })
      const shown = shards.map(
        (shard, i): ShardStatus => ({ shard: `${item}#${i}`, version: 1, held: 0, buyers: 0, ...shard }),
      )
      const window = { state: 'open' as const, opensAtMs: 0, closesAtMs: 1, changeNo: 0, stateNo: 0 }
      const sums = { version: 1, left: shards.reduce((sum, { left }) => sum + left, 0), held: 0, buyers: 0 }
      return { item, epoch: moving.epoch, ...sums, ...window, shards: shown }
    },
  }
}

/** An item spread in the ledger, its places, and keepers whose calls may go wrong. */
async function stage(lefts: readonly number[] = [UNITS, 0, 0, 0]) {
  const { sale, item } = await ledger.openItem({ units: UNITS, shards: SHARDS })
  const epoch = await ledger.rights.raiseEpoch(item)
  await ledger.rights.snapshot(
    item,
    epoch,
    async () => {},
    false,
    () => {},
  )
  await ledger.rights.setDoor(item, epoch, 'gate')
  const found = (await ledger.sales.find(sale))!
  const registry = new Map([
    [item, { sale: found, item: found.items[0]!, epoch, door: 'gate', current: true } as LiveItem],
  ])
  const gate = openShards(item, epoch, lefts)
  const journal = createMoves(ledger.database)

  async function happen<T>(mishap: Mishap | undefined, call: () => Promise<T>, lost: T): Promise<T> {
    if (mishap === 'late') await call()
    if (mishap === 'away') throw new Fault('away', 'no answer', { retryable: true, outcomeUnknown: true })
    return mishap === undefined ? call() : lost
  }

  /** One round of a keeper; `decide` says what happens to each of its steps. */
  function round(decide: (step: Step) => Mishap | undefined = () => undefined): Promise<void> {
    const failing = <T>(step: Step, call: () => Promise<T>): Promise<T> => {
      const mishap = decide(step)
      // The ledger does not lose words quietly: its client hears of it.
      const late = mishap === 'late' ? call() : Promise.resolve()
      return mishap === undefined
        ? call()
        : late.then(() => {
            throw new Fault('ledger_away', 'no answer', { retryable: true, outcomeUnknown: true })
          })
    }
    const moves: Parameters<typeof moveUnits>[0]['journal'] = {
      // Of this item alone: other tests leave moves open.
      open: async () => (await journal.open()).filter(move => move.item === item),
      ask: (...words) => failing('ask', () => journal.ask(...words)),
      taken: (...words) => failing('journal', () => journal.taken(...words)),
      end: (...words) => failing('done', () => journal.end(...words)),
    }
    return moveUnits({
      gate: { status: async items => ({ nowMs: 0, items: items.includes(item) ? [gate.status()] : [] }) },
      shardGate: {
        move: (shard, under, no, delta) => {
          const mishap = decide(delta < 0 ? 'take' : 'give')
          const lost = { status: mishap === 'stale' ? ('stale' as const) : ('unknown' as const) }
          return happen<ChangeReply>(mishap, () => gate.mover.move(shard, under, no, delta), lost)
        },
      },
      counts: { of: () => SHARDS },
      journal: moves,
      items: () => soldAtGate(registry),
      log: silent,
      mayMove: () => true,
    }).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
    })
  }

  return {
    item,
    sale,
    epoch,
    gate,
    registry,
    round,
    waits(shard: number, wants = 1, waitedMs = 10) {
      Object.assign(gate.shards[shard]!, { wants, waitedMs })
    },
    audit() {
      const view: GateView = {
        status: async () => new Map([[item, gate.status()]]),
        unplaced: async () => new Map([[item, { units: 0, miscounted: 0 }]]),
      }
      return auditItems({ reconciliation: ledger.reconciliation, view, clock: systemClock }, found)
    },
    open: async () => (await journal.open()).find(move => move.item === item),
    rows: () => ledger.sql('SELECT no, state, wanted, taken FROM shard_moves WHERE item = $1 ORDER BY no', [item]),
  }
}

describe('units move to the shard where a buyer waits', () => {
  test('an even share of them, written down from the first step to the last', async () => {
    const it = await stage()
    it.waits(2)
    await it.round()
    expect(it.gate.shards.map(({ left }) => left)).toEqual([75, 0, 25, 0])
    expect(await it.rows()).toEqual([{ no: 1, state: 'done', wanted: 25, taken: 25 }])
  })

  test('for all who wait in one round, and not for those who asked long ago or have enough', async () => {
    const it = await stage([40, 20, 0, 40])
    it.waits(1, 20)
    it.waits(2, 1, 2_000)
    await it.round()
    expect(await it.rows()).toEqual([])
    for (const shard of [1, 2]) it.waits(shard, 25)
    await it.round()
    expect(it.gate.shards.map(({ left }) => left)).toEqual([35, 25, 25, 15])
  })

  test('fewer where some were sold meanwhile, and none are made up', async () => {
    const it = await stage()
    it.waits(1)
    await it.round(step => {
      if (step === 'ask') it.gate.shards[0]!.left = 7
      return undefined
    })
    expect(it.gate.shards.map(({ left }) => left)).toEqual([0, 7, 0, 0])
    const none = await stage()
    none.waits(1)
    await none.round(step => {
      if (step === 'ask') none.gate.shards[0]!.left = 0
      return undefined
    })
    expect(none.gate.left()).toBe(0)
    expect(await none.open()).toBeUndefined()
  })

  test('not where another door sells, and not of an item whose gate is away; the others are served', async () => {
    const away = await stage()
    const there = await stage()
    away.gate.moving.away = true
    there.waits(1)
    away.waits(1)
    away.registry.set(there.item, there.registry.get(there.item)!)
    await away.round()
    await there.round()
    expect(there.gate.shards[1]!.left).toBe(25)
    const shut = await stage()
    shut.waits(1)
    shut.registry.set(shut.item, { ...shut.registry.get(shut.item)!, seenAtMs: 0, door: 'draining' })
    await shut.round()
    expect(await shut.rows()).toEqual([])
  })
})

describe('a keeper that is stopped at any step leaves no unit twice, and the next one finishes the same move:', () => {
  const deaths: readonly (readonly [Step, Mishap])[] = [
    ['ask', 'lost'],
    ['ask', 'late'],
    ['take', 'lost'],
    ['take', 'late'],
    ['take', 'away'],
    ['take', 'stale'],
    ['journal', 'lost'],
    ['journal', 'late'],
    ['give', 'lost'],
    ['give', 'late'],
    ['give', 'away'],
    ['give', 'stale'],
    ['done', 'lost'],
    ['done', 'late'],
  ]
  for (const [at, mishap] of deaths) {
    test(`${at}, ${mishap}`, async () => {
      const it = await stage()
      it.waits(3)
      await it.round(step => (step === at ? mishap : undefined))
      const between = UNITS - it.gate.left()
      const open = await it.open()
      expect(between).toBeGreaterThanOrEqual(0)
      expect(between).toBeLessThanOrEqual(open?.taken ?? open?.wanted ?? 0)
      expect(await it.audit()).toMatchObject([{ consistent: true, moving: between, gate: { left: UNITS - between } }])
      await it.round()
      expect(it.gate.shards.map(({ left }) => left)).toEqual([75, 0, 0, 25])
      expect(await it.rows()).toEqual([{ no: 1, state: 'done', wanted: 25, taken: 25 }])
    })
  }
})

test('keepers that all believe they act, and lose words at random: no unit is ever there twice, and none is missing in the end', async () => {
  const words = fc.array(fc.constantFrom<Mishap | undefined>(undefined, undefined, undefined, 'lost', 'late', 'away'), {
    minLength: 12,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(words, words, fc.nat(3), fc.nat(30)), { maxLength: 5 }), async rounds => {
      const it = await stage([25, 25, 25, 25])
      const watch = (list: readonly (Mishap | undefined)[]) => {
        let i = 0
        return () => {
          expect(it.gate.left()).toBeLessThanOrEqual(UNITS)
          return list[i++]
        }
      }
      for (const [one, other, shard, wants] of rounds) {
        it.waits(shard, wants)
        await Promise.all([it.round(watch(one)), it.round(watch(other))])
      }
      for (const shard of it.gate.shards) Object.assign(shard, { wants: 0, waitedMs: undefined })
      await it.round()
      expect(await it.open()).toBeUndefined()
      expect(it.gate.left()).toBe(UNITS)
    }),
    { numRuns: 25 },
  )
}, 300_000)

test('units that no move explains are missing, and the audit says so', async () => {
  const it = await stage()
  it.waits(3)
  await it.round(step => (step === 'give' ? 'lost' : undefined))
  it.gate.shards[0]!.left -= 1
  expect(await it.audit()).toMatchObject([{ consistent: false, moving: 25 }])
  it.gate.shards[0]!.left += 27
  expect(await it.audit()).toMatchObject([{ consistent: false, moving: 0 }])
})

test('a move whose epoch is over is void: nothing is given to a gate that was built from the ledger', async () => {
  const it = await stage()
  it.waits(1)
  await it.round(step => (step === 'give' ? 'lost' : undefined))
  expect(await it.open()).toMatchObject({ taken: 25, current: true })
  const next = await ledger.rights.raiseEpoch(it.item)
  await it.round()
  expect(await it.rows()).toEqual([{ no: 1, state: 'void', wanted: 25, taken: 25 }])
  await ledger.rights.snapshot(
    it.item,
    next,
    async () => {},
    false,
    () => {},
  )
  await ledger.rights.setDoor(it.item, next, 'gate')
  it.gate.moving.epoch = next
  for (const shard of it.gate.shards) Object.assign(shard, { left: 25, moveNo: 0, moved: 0 })
  await it.round()
  expect(it.gate.left()).toBe(UNITS)
})
