import { expect, test } from 'bun:test'
import { createReadTurns } from './read-turns.ts'

/** Time that passes only when all wait for it. */
function stage({ busy = true, turnsMax = 5, waitingMax = 1_000 } = {}) {
  let nowMs = 0
  const timers: { readonly atMs: number; readonly wake: () => void }[] = []
  const clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    sleep: (ms: number) => new Promise<void>(wake => void timers.push({ atMs: nowMs + ms, wake })),
  }
  const state = { busy, running: 0, most: 0 }
  const turns = createReadTurns({ clock, turnsMax, waitingMax, isBusy: () => state.busy })
  const log: string[] = []
  const read = (kind: string, tookMs: number) =>
    turns.take(kind, async () => {
      log.push(`${nowMs} ${kind}`)
      state.most = Math.max(state.most, ++state.running)
      await clock.sleep(tookMs)
      state.running -= 1
    })
  async function run(untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    for (;;) {
      // Every promise that can go on has gone on.
      await new Promise<void>(resolve => setImmediate(resolve))
      timers.sort((a, b) => a.atMs - b.atMs)
      const next = timers[0]
      if (next === undefined || next.atMs > untilMs) return
      timers.shift()
      nowMs = next.atMs
      next.wake()
    }
  }
  return { state, log, read, run, turns, clock }
}

test('while no order is placed, as many reads run as there are connections, and none rests', async () => {
  const { state, log, read, run } = stage({ busy: false })
  for (let i = 0; i < 10; i++) void read('list', 10)
  await run()
  expect(state.most).toBe(5)
  expect(log).toEqual([...Array(5).fill('0 list'), ...Array(5).fill('10 list')])
})

test('while orders are placed one read runs at a time, and reads rest as long as it took, within bounds', async () => {
  const { state, log, read, run } = stage()
  void read('list', 0.1)
  void read('list', 10)
  void read('list', 450)
  void read('list', 10)
  await run()
  expect(state.most).toBe(1)
  expect(log).toEqual(['0 list', '1.1 list', '21.1 list', '921.1 list'])
})

test('reads that run when a rush begins end, and then one runs at a time', async () => {
  const { state, read, run, log } = stage({ busy: false })
  for (let i = 0; i < 8; i++) void read('list', 10)
  state.busy = true
  await run()
  expect(log).toEqual([...Array(5).fill('0 list'), '20 list', '40 list', '60 list'])
})

test('a read that waits for a lock holds up no other for long, also while orders are placed', async () => {
  const { log, read, run } = stage({ turnsMax: 3 })
  for (let i = 0; i < 4; i++) void read('list', 9_000)
  void read('export', 10)
  await run(8_000)
  // The third of them is the last connection.
  expect(log).toEqual(['0 list', '500 export', '520 list', '1100 list'])
})

test('when the rush is over, those that wait begin, and do not wait for the one that runs', async () => {
  const { state, log, read, run } = stage()
  for (let i = 0; i < 4; i++) void read('list', 400)
  await run(50)
  state.busy = false
  await run(150)
  expect(log).toEqual(['0 list', '100 list', '100 list', '100 list'])
})

test('forty lists hold up no export, an audit no list: kinds share the time, however long their statements are', async () => {
  const { log, read, run } = stage()
  const used: Record<string, number> = { list: 0, export: 0, audit: 0 }
  const again = async (kind: string, tookMs: number): Promise<void> => {
    for (;;) {
      await read(kind, tookMs)
      used[kind] = used[kind]! + tookMs
    }
  }
  for (let i = 0; i < 40; i++) void again('list', 1)
  void again('export', 5)
  void again('audit', 100)
  await run(12_000)
  // Half of the time is rest.
  for (const kind of ['list', 'export', 'audit']) expect(Math.abs(used[kind]! - 2_000), kind).toBeLessThanOrEqual(100)
  expect(log.length).toBeGreaterThan(2_000)
})

test('a kind that had nothing to ask is owed nothing for it', async () => {
  const { log, read, run } = stage()
  for (let i = 0; i < 20; i++) void read('list', 10)
  await run(100)
  for (let i = 0; i < 20; i++) void read('export', 10)
  log.length = 0
  await run(200)
  const of = (kind: string) => log.filter(line => line.endsWith(kind)).length
  expect(log.length).toBeGreaterThanOrEqual(4)
  expect(Math.abs(of('list') - of('export'))).toBeLessThanOrEqual(1)
})

test('at the bound a read is refused, and one that has waited too long is too; those behind it go on', async () => {
  const { read, run, turns } = stage({ waitingMax: 2, turnsMax: 1 })
  const slow = read('audit', 10_001)
  const waiting = [read('list', 1), read('list', 1)].map(one => one.catch((error: { code: string }) => error.code))
  expect(turns.waiting()).toBe(2)
  await expect(read('list', 1)).rejects.toMatchObject({ code: 'ledger_busy', retryable: true })
  await run()
  await slow
  expect(await Promise.all(waiting)).toEqual(['ledger_busy', 'ledger_busy'])
  await Promise.all([read('list', 1), run()])
  expect(turns.waiting()).toBe(0)
})

test('a read that fails ends its turn', async () => {
  const { read, run, turns } = stage()
  const failed = turns
    .take('list', async () => Promise.reject(new Error('away')))
    .catch((error: Error) => error.message)
  const next = read('list', 1)
  await run()
  expect(await failed).toBe('away')
  await next
})
