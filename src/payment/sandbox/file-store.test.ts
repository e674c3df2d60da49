import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../base/log.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { FileStore } from './file-store.ts'
import { createMemoryStore } from './memory-store.fixture.ts'
import type { SandboxRow, SandboxRows } from './payment-repository.ts'
import { isFinal, type SandboxPayment } from './sandbox-payment.ts'
import { openSandboxShop } from './sandbox-shop.fixture.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function place() {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-sandbox-'))
  folders.push(folder)
  const path = join(folder, 'data', 'sandbox-payments.jsonl')
  const warned: string[] = []
  const write = (_fields: unknown, message: string) => void warned.push(message)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  return { path, warned, log, open: () => FileStore.open(path, log), lines: () => linesOf(path) }
}

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)

const payment = (ref: string, more: Partial<SandboxPayment> = {}): SandboxPayment => ({
  ref,
  state: 'open',
  asked: { amount: { amount: 100, currency: 'EUR' }, description: 'Straße\n"购"', payByMs: 2 },
  madeAtMs: 1,
  ...more,
})

const rowOf = (saved: SandboxPayment): SandboxRow => ({
  text: JSON.stringify(saved),
  madeAtMs: saved.madeAtMs,
  over: isFinal(saved),
})

/** Over whatever is there. */
async function save(store: SandboxRows, saved: SandboxPayment): Promise<void> {
  expect(await store.replace(saved.ref, await store.read(saved.ref), rowOf(saved))).toBe(true)
}

/** What the store has of these, and that it has nothing else. */
async function keptIn(store: SandboxRows, refs: readonly string[]): Promise<SandboxPayment[]> {
  const texts = (await Promise.all(refs.map(ref => store.read(ref)))).filter(text => text !== undefined)
  expect(await store.count()).toBe(texts.length)
  return texts.map(text => JSON.parse(text))
}

describe('a sandbox that dies', () => {
  test('knows after the restart what it had answered before: open, captured, void, refunded and half refunded', async () => {
    const { path, log } = place()
    const before = await openSandboxShop({ rows: await FileStore.open(path, log) })
    const returnUrl = 'https://shop.example/back'
    const urls = await Promise.all(['1', '2', '3', '4', '5'].map(ref => before.start(ref, { returnUrl })))
    await before.post(`${urls[1]}/approve?mode=lost`)
    await before.post(`${urls[2]}/decline`)
    await before.post(`${urls[3]}/approve?mode=lost`)
    await before.refund('4')
    await before.post(`${urls[4]}/approve?mode=slow_refund`)
    await before.refund('5')
    await before.cancel('6')
    const told = await Promise.all(['1', '2', '3', '4', '5', '6', '7'].map(ref => before.query(ref)))
    expect(told.map(one => one.state)).toEqual(['open', 'captured', 'void', 'refunded', 'captured', 'void', 'unknown'])

    // Not stopped: the next one finds what a killed process leaves.
    const after = await openSandboxShop({ rows: await FileStore.open(path, log) })
    expect(await Promise.all(['1', '2', '3', '4', '5', '6', '7'].map(ref => after.query(ref)))).toEqual(told)
    expect(await after.start('1', { returnUrl })).toBe(urls[0]!)
    expect((await after.sandbox.find('1'))?.asked?.returnUrl).toBe(returnUrl)
    expect((await after.post(`${urls[0]}/approve`)).body).toBe('{"state":"captured"}')
    expect((await after.post(`${urls[2]}/approve`)).status).toBe(409)
    expect(await after.refund('2')).toEqual({ state: 'refunded' })
    expect(await after.refund('5')).toEqual({ state: 'refunded' })
    await after.close()
    await before.close()
  })

  test('in the middle of a write loses only that line, wherever it was torn', async () => {
    const { path, open, warned } = place()
    const first = await open()
    await save(first, payment('1'))
    const wholeBytes = statSync(path).size
    await save(first, payment('2'))
    await first.close()
    const both = readFileSync(path)
    for (let bytes = wholeBytes; bytes < both.length; bytes++) {
      writeFileSync(path, both)
      truncateSync(path, bytes)
      const store = await open()
      expect((await keptIn(store, ['1', '2'])).map(one => one.ref)).toEqual(['1'])
      await save(store, payment('3'))
      await store.close()
      expect(linesOf(path).map(line => JSON.parse(line).ref)).toEqual(['1', '3'])
    }
    expect(new Set(warned)).toEqual(new Set(['sandbox store: torn last line dropped, it was never confirmed']))
    expect(warned.length).toBe(both.length - wholeBytes - 1)
  })
})

describe('the file', () => {
  test('holds every payment once after a start, as it was last, readable by its owner only', async () => {
    const { path, open, lines } = place()
    const store = await open()
    expect(await store.count()).toBe(0)
    for (const state of ['open', 'void'] as const)
      for (const ref of ['1', '2', '3']) await save(store, payment(ref, { state }))
    expect(lines().length).toBe(6)
    await store.close()
    const again = await open()
    const kept = ['1', '2', '3'].map(ref => payment(ref, { state: 'void' }))
    expect(await keptIn(again, ['1', '2', '3'])).toEqual(kept)
    expect(lines().length).toBe(3)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await save(again, payment('4'))
    await again.close()
    expect(lines().length).toBe(4)
  })

  test('that holds anything unreadable before its end stops the start: money is not forgotten quietly', async () => {
    const { path, open } = place()
    const store = await open()
    await save(store, payment('1'))
    await store.close()
    const good = readFileSync(path, 'utf8')
    const amountless = JSON.stringify({ ...payment('2'), asked: undefined })
    const uncaptured = JSON.stringify(payment('2', { state: 'captured' }))
    for (const bad of ['{"ref":', '', '[]', amountless, uncaptured]) {
      writeFileSync(path, `${good}${bad}\n${good}`)
      await expect(open()).rejects.toMatchObject({ code: 'sandbox_store_unreadable' })
      expect(readFileSync(path, 'utf8')).toBe(`${good}${bad}\n${good}`)
    }
  })

  test('loses what is forgotten, and keeps what is saved under the same ref afterwards', async () => {
    const { open, lines } = place()
    const store = await open()
    const final = (ref: string) => rowOf(payment(ref, { state: 'void' }))
    const saves = [
      final('1'),
      rowOf(payment('2')),
      final('3'),
      rowOf(payment('4', { state: 'void', madeAtMs: 3 })),
    ].map((row, index) => store.replace(String(index + 1), undefined, row))
    const forgotten = store.forget(3)
    const again = store.replace('3', undefined, final('3'))
    expect(await Promise.all([...saves, forgotten, again])).toEqual([true, true, true, true, 2, true])
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['2', '4', '3'])
    await store.close()
    const after = await open()
    expect(await keptIn(after, ['1', '2', '3', '4'])).toEqual([
      payment('2'),
      payment('3', { state: 'void' }),
      payment('4', { state: 'void', madeAtMs: 3 }),
    ])
    await after.close()
  })

  test('takes one of two changes that start from the same state, and shows a change only when it is on disk', async () => {
    const { open, lines } = place()
    const store = await open()
    await save(store, payment('1'))
    const before = await store.read('1')
    const both = ['void', 'open'].map(state =>
      store.replace('1', before, rowOf(payment('1', { state: state as 'void' | 'open', madeAtMs: 2 }))),
    )
    expect(await store.read('1')).toBe(before!)
    expect(await Promise.all(both)).toEqual([true, false])
    expect(await store.read('1')).toBe(lines().at(-1)!)
    expect(JSON.parse(lines().at(-1)!).state).toBe('void')
    await store.close()
  })

  test('after thousands of saves and restarts at random holds what a store in memory holds', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const { path, open } = place()
    const reference = createMemoryStore()
    const refs = Array.from({ length: 100 }, (_, n) => String(n))
    let forgotten = 0
    for (let life = 0; life < 6; life++) {
      const store = await open()
      expect(await keptIn(store, refs)).toEqual(await keptIn(reference, refs))
      const begun: Promise<void>[] = []
      const both = async (act: (rows: SandboxRows) => Promise<number | boolean>) => {
        const [here, there] = await Promise.all([store, reference].map(act))
        expect(here).toBe(there!)
        if (typeof here === 'number') forgotten += here
      }
      for (let n = 0; n < 500; n++) {
        const ref = refs[Math.floor(random.next() * 100)]!
        if (random.next() < 0.01) {
          const beforeMs = Math.floor(random.next() * n)
          begun.push(both(rows => rows.forget(beforeMs, 1_000)))
        } else {
          const row = rowOf(payment(ref, { madeAtMs: n, state: random.next() < 0.5 ? 'open' : 'void' }))
          // Now and then a change that starts from a state that is no more.
          const before = random.next() < 0.1 ? undefined : await reference.read(ref)
          begun.push(both(rows => rows.replace(ref, before, row)))
        }
        if (random.next() < 0.05) await Promise.all(begun.splice(0))
      }
      await Promise.all(begun)
      await store.close()
      appendFileSync(path, '{"ref":"tor')
    }
    expect(forgotten).toBeGreaterThan(0)
  })
})

test('a closed store takes nothing more', async () => {
  const { open } = place()
  const store = await open()
  await store.close()
  await expect(save(store, payment('1'))).rejects.toMatchObject({ code: 'sandbox_store_closed' })
})

describe('a disk that fails', () => {
  /** All file handles share their methods. */
  async function handles(path: string) {
    const handle = await openFile(path, 'r')
    await handle.close()
    return Object.getPrototypeOf(handle) as FileHandle
  }

  test('makes a save a fault, leaves nothing of it behind, and the next one is taken', async () => {
    const { path, open, lines } = place()
    const store = await open()
    await save(store, payment('1'))
    const sync = spyOn(await handles(path), 'datasync').mockRejectedValueOnce(new Error('no space left'))
    try {
      await expect(save(store, payment('2'))).rejects.toMatchObject({
        code: 'sandbox_store_failed',
        outcomeUnknown: true,
      })
    } finally {
      sync.mockRestore()
    }
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1'])
    expect(await store.read('2')).toBeUndefined()
    await save(store, payment('3'))
    await store.close()
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1', '3'])
  })

  test('so badly that half a line can not be cut off again makes every later save a fault', async () => {
    const { path, open, lines } = place()
    const store = await open()
    const files = await handles(path)
    const sync = spyOn(files, 'datasync').mockRejectedValueOnce(new Error('broken'))
    const cut = spyOn(files, 'truncate').mockRejectedValueOnce(new Error('broken'))
    try {
      await expect(save(store, payment('1'))).rejects.toMatchObject({ code: 'sandbox_store_failed' })
    } finally {
      sync.mockRestore()
      cut.mockRestore()
    }
    await expect(save(store, payment('2'))).rejects.toMatchObject({ code: 'sandbox_store_failed' })
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1'])
    await store.close()
  })

  test('with the file gone does not take the rest for forgotten', async () => {
    const { path, open, lines } = place()
    const store = await open()
    await save(store, payment('1'))
    await save(store, payment('2', { state: 'void' }))
    rmSync(path)
    expect(await store.forget(2)).toBe(1)
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1'])
    await store.close()
  })
})
