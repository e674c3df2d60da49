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
