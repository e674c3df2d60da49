import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Gate, GateStatus, GateStatusReply, ReserveReply } from '../../gate/gate.ts'
import { createGateHealth } from './gate-health.ts'

const items = ['1', '2', '3'].map(id => ({ id, epoch: 1 }))
const window = { state: 'open', opensAtMs: 0, closesAtMs: 1, changeNo: 0, stateNo: 0 } as const
const statusOf = (item: string): GateStatus => ({ item, epoch: 1, version: 1, left: 1, held: 0, buyers: 0, ...window })
const away = () => new Fault('away', 'away', { retryable: true })

interface Wish {
  readonly reply: (items: readonly string[]) => GateStatusReply
  /** Items whose server answers and takes nothing. */
  readonly full?: readonly string[]
}

async function reached({ reply, full = [] }: Wish) {
  const asked: string[] = []
  const gate: Pick<Gate, 'status' | 'reserve'> = {
    status: async wanted => reply(wanted),
    async reserve(item): Promise<ReserveReply> {
      asked.push(item)
      return full.includes(item) ? { status: 'busy' } : { status: 'stale', epoch: 1 }
    },
  }
  const health = await createGateHealth(gate, systemClock)(items)
  return { kinds: items.map(({ id }) => health.of(id).kind), nowMs: health.nowMs, asked }
}

test('one server: one item speaks for all, whether it takes anything', async () => {
  const reply = (wanted: readonly string[]) => ({ nowMs: 500, items: wanted.map(statusOf) })
  expect(await reached({ reply })).toEqual({ kinds: ['there', 'there', 'there'], nowMs: 500, asked: ['1'] })
  expect((await reached({ reply, full: ['1'] })).kinds).toEqual(['away', 'away', 'away'])
})

test('several servers: each item speaks for itself, and one that is full is away alone', async () => {
  const reply = (wanted: readonly string[]) => ({ nowMs: 500, behindMs: 100, items: wanted.map(statusOf), away: [] })
  const { kinds, nowMs, asked } = await reached({ reply, full: ['2'] })
  expect(kinds).toEqual(['there', 'away', 'there'])
  expect(asked.toSorted()).toEqual(['1', '2', '3'])
  // By the slowest of their clocks: whoever settles by it must not be early anywhere.
  expect(nowMs).toBe(400)
})

test('several servers, one of them silent: its items are away, the others are not, and there is no clock of all', async () => {
  const reply = () => ({ nowMs: 500, behindMs: 0, items: [statusOf('1'), statusOf('2')], away: ['3'] })
  const { kinds, nowMs, asked } = await reached({ reply })
  expect(kinds).toEqual(['there', 'there', 'away'])
  expect(nowMs).toBeUndefined()
  expect(asked).not.toContain('3')
})

test('a look that fails for all is asked again for each', async () => {
  const reply = (wanted: readonly string[]) => {
    if (wanted.length > 1 || wanted[0] === '2') throw away()
    return { nowMs: 500, items: wanted.map(statusOf) }
  }
  const { kinds, nowMs } = await reached({ reply })
  expect(kinds).toEqual(['there', 'away', 'there'])
  expect(nowMs).toBeUndefined()
})

/** Many items on two servers, all as they should be after the first round. Counts what each round asks. */
function manyItems(count: number, isShut: (item: string) => boolean = () => false) {
  const many = Array.from({ length: count }, (_, i) => String(i + 1))
  const lost = new Set<string>()
  const moved = new Set<string>()
  const away = new Set<string>()
  const serverOf = (item: string) => ((Number(item) % 2 === 0) !== moved.has(item) ? 'even' : 'odd')
  const asked = { statuses: 0, probes: 0 }
  const gate: Pick<Gate, 'status' | 'reserve' | 'servers'> = {
    servers: item => [serverOf(item)],
    async status(wanted) {
      asked.statuses += wanted.length
      const there = wanted.filter(item => !away.has(serverOf(item)))
      const shown = there.filter(item => !lost.has(serverOf(item)) && !moved.has(item) && !isShut(item)).map(statusOf)
      return { nowMs: 500, behindMs: 0, items: shown, away: wanted.filter(item => away.has(serverOf(item))) }
    },
    async reserve(): Promise<ReserveReply> {
      asked.probes += 1
      return { status: 'stale', epoch: 1 }
    },
  }
  const health = createGateHealth(gate, systemClock)
  const wanted = many.map(id => ({
    id,
    epoch: 1,
    isSettled: (status?: GateStatus) => isShut(id) || status?.epoch === 1,
  }))
  const round = async () => {
    Object.assign(asked, { statuses: 0, probes: 0 })
    return health(wanted)
  }
  const missing = async () => {
    const seen = await round()
    return many.filter(id => {
      const one = seen.of(id)
      return one.kind === 'there' && one.status === undefined
    })
  }
  return { many, lost, moved, away, serverOf, asked, round, missing }
}

test('items that are as they should be cost the same, however many: a few statuses in turn and a probe for each server', async () => {
  for (const count of [100, 2_000]) {
    const { round, asked, many } = manyItems(count)
    await round()
    expect(asked.statuses).toBe(count)
    let all = 0
    for (let i = 0; i < Math.ceil(count / 64); i++) {
      const seen = await round()
      all += asked.statuses
      expect(asked.statuses).toBeLessThanOrEqual(66)
      expect(asked.probes).toBe(2)
      expect(many.every(id => seen.of(id).kind === 'there')).toBe(true)
    }
    // Each of them had its turn.
    expect(all).toBeGreaterThanOrEqual(count)
  }
})

test('a server that has lost its items is seen in the next round, with every one of them', async () => {
  const { round, missing, lost, many, serverOf } = manyItems(2_000)
  await round()
  lost.add('odd')
  expect(await missing()).toEqual(many.filter(id => serverOf(id) === 'odd'))
})

test('an item that is on another server now is read in the next round', async () => {
  const { round, missing, moved } = manyItems(2_000)
  await round()
  moved.add('1234')
  expect(await missing()).toEqual(['1234'])
})

test('a server that does not answer takes away all its items, also those that were not asked for, and no others', async () => {
  const { round, away, many, serverOf } = manyItems(2_000)
  await round()
  away.add('even')
  const seen = await round()
  for (const id of many) expect(seen.of(id).kind).toBe(serverOf(id) === 'even' ? 'away' : 'there')
})

test('a loss is seen in the next round where most items are behind no gate: they show nothing that could be missing', async () => {
  const isOnSale = (item: string) => item === '1995' || item === '1996'
  const { round, missing, lost, asked } = manyItems(2_000, item => !isOnSale(item))
  await round()
  const before = await missing()
  expect(asked.statuses).toBeLessThanOrEqual(70)
  expect(before.filter(isOnSale)).toEqual([])
  lost.add('odd')
  expect((await missing()).filter(isOnSale)).toEqual(['1995'])
  lost.add('even')
  expect((await missing()).filter(isOnSale)).toEqual(['1995', '1996'])
})
