import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { Partition } from '../../gate/outbox.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

/** A worker that follows a real item and so many others, in whose outboxes nothing ever is. It counts what it looks at. */
async function amongIdle(idle: number) {
  const { item, epoch } = await stage.fresh({ units: 10 }).then(({ item }) => stage.keeper().untilDoor(item, 'gate'))
  const others = Array.from({ length: idle }, (_, i) => String(900_000 + i))
  const followed = new Set([...others, item])
  const seen = { reads: 0, items: 0, takes: [] as string[] }
  const pressing = new Set<string>()
  const worker = stage.worker('w', item, {
    items: () => followed,
    drains: one => followed.has(one),
    pressing: () => pressing,
    outbox: {
      ...stage.outbox,
      status(items) {
        seen.reads += 1
        seen.items += items.length
        return stage.outbox.status(items)
      },
      take(partition, ...rest) {
        seen.takes.push(partition)
        return stage.outbox.take(partition, ...rest)
      },
    },
  })
  /** Counted from here on. */
  const forget = () => Object.assign(seen, { reads: 0, items: 0, takes: [] })
  const reserve = async () => {
    const reply = await stage.gate.reserve(item, epoch, [stage.ask('ann')])
    expect(reply).toMatchObject({ answers: [{ code: 'reserved' }] })
  }
  const message = { kind: 'reserved', item, partition: item as Partition, epoch, version: 2, left: 9 } as const
  const depth = async () => (await stage.outbox.depth([item]))[0]?.entries
  return { worker, item, followed, pressing, seen, forget, reserve, message, depth }
}

async function costOfTenRounds(idle: number) {
  const { worker, seen, forget } = await amongIdle(idle)
  await worker.work()
  forget()
  for (let i = 0; i < 10; i++) await worker.work()
  return { ...seen }
}

describe('what a worker asks about items where nothing happens', () => {
  test('is the same for 2,000 items as for 100, and no partition is taken', async () => {
    const few = await costOfTenRounds(100)
    const many = await costOfTenRounds(2_000)
    expect([few, many]).toMatchObject([
      { reads: 10, takes: [] },
      { reads: 10, takes: [] },
    ])
    expect(Math.max(few.items, many.items)).toBeLessThanOrEqual(320)
  })

  test('a busy item among 2,000 idle ones is placed at its message: no other is asked about', async () => {
    const { worker, seen, forget, reserve, message, depth, item } = await amongIdle(2_000)
    await worker.work()
    await reserve()
    forget()
    stage.hear({ ...message, buyers: ['ann'] })
    await worker.idle()
    expect(await depth()).toBe(0)
    expect(seen).toEqual({ reads: 0, items: 0, takes: [item] })
  })
})

describe('an entry whose message was lost is found', () => {
  test('at the start: all outboxes are looked at, in batches', async () => {
    const { worker, seen, reserve, depth, item } = await amongIdle(2_000)
    await reserve()
    await worker.work()
    expect(await depth()).toBe(0)
    expect(seen.items).toBe(2_001)
    expect(seen.reads).toBeLessThan(10)
    expect(new Set(seen.takes)).toEqual(new Set([item]))
  })

  test('after a gap in the messages, in the next round', async () => {
    const { worker, reserve, depth } = await amongIdle(2_000)
    await worker.work()
    await reserve()
    stage.gap()
    await worker.work()
    expect(await depth()).toBe(0)
  })

  test('at once when a rebuild waits for it', async () => {
    const { worker, reserve, depth, pressing, item } = await amongIdle(2_000)
    await worker.work()
    await reserve()
    pressing.add(item)
    await worker.work()
    expect(await depth()).toBe(0)
  })

  test('in its turn, without any of these', async () => {
    const { worker, reserve, depth } = await amongIdle(100)
    await worker.work()
    await reserve()
    for (let i = 0; i < 4; i++) await worker.work()
    expect(await depth()).toBe(0)
  })

  test('when its server is back', async () => {
    const { worker, reserve, depth } = await amongIdle(0)
    await reserve()
    stage.server.away = true
    await worker.work()
    expect(worker.lines.map(line => line.level)).toContain('warn')
    stage.server.away = false
    await worker.work()
    expect(await depth()).toBe(0)
  })
})

test('stock that comes back wakes no worker; an edge that misses its order does', async () => {
  const { worker, reserve, message, depth, seen } = await amongIdle(2_000)
  await worker.work()
  await reserve()
  stage.hear({ ...message, buyers: [] })
  await worker.idle()
  expect(seen.takes).toEqual([])
  stage.hear({ ...message, version: 0, left: 0, buyers: [] })
  await worker.idle()
  expect(await depth()).toBe(0)
})

test('a message that comes before this process follows the item is not forgotten', async () => {
  const { worker, followed, item, reserve, message, depth } = await amongIdle(2_000)
  followed.delete(item)
  await worker.work()
  await reserve()
  stage.hear({ ...message, buyers: ['ann'] })
  await worker.work()
  expect(await depth()).toBe(1)
  followed.add(item)
  await worker.work()
  expect(await depth()).toBe(0)
})
