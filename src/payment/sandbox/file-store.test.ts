import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../base/log.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { FileStore } from './file-store.ts'
import { createMemoryStore } from './memory-store.fixture.ts'
import type { SandboxPayment } from './sandbox-payment.ts'
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
  return { path, warned, log, open: () => new FileStore(path, log), lines: () => linesOf(path) }
}

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1)

const payment = (ref: string, more: Partial<SandboxPayment> = {}): SandboxPayment => ({
  ref,
  state: 'open',
  asked: { amount: { amount: 100, currency: 'EUR' }, description: 'Straße\n"购"', payByMs: 2 },
  madeAtMs: 1,
  ...more,
})

describe('a sandbox that dies', () => {
  test('knows after the restart what it had answered before: open, captured, void, refunded and half refunded', async () => {
    const { path, log } = place()
    const before = await openSandboxShop({ store: new FileStore(path, log) })
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
    const after = await openSandboxShop({ store: new FileStore(path, log) })
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
    const first = open()
    await first.load()
    await first.save(payment('1'))
    const wholeBytes = statSync(path).size
    await first.save(payment('2'))
    await first.close()
    const both = readFileSync(path)
    for (let bytes = wholeBytes; bytes < both.length; bytes++) {
      writeFileSync(path, both)
      truncateSync(path, bytes)
      const store = open()
      expect((await store.load()).map(one => one.ref)).toEqual(['1'])
      await store.save(payment('3'))
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
    const store = open()
    expect(await store.load()).toEqual([])
    for (const state of ['open', 'void'] as const)
      for (const ref of ['1', '2', '3']) await store.save(payment(ref, { state }))
    expect(lines().length).toBe(6)
    await store.close()
    const again = open()
    const kept = ['1', '2', '3'].map(ref => payment(ref, { state: 'void' }))
    expect(await again.load()).toEqual(kept)
    expect(lines().length).toBe(3)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await again.save(payment('4'))
    await again.close()
    expect(lines().length).toBe(4)
  })

  test('that holds anything unreadable before its end stops the start: money is not forgotten quietly', async () => {
    const { path, open } = place()
    const store = open()
    await store.load()
    await store.save(payment('1'))
    await store.close()
    const good = readFileSync(path, 'utf8')
    const amountless = JSON.stringify({ ...payment('2'), asked: undefined })
    const uncaptured = JSON.stringify(payment('2', { state: 'captured' }))
    for (const bad of ['{"ref":', '', '[]', amountless, uncaptured]) {
      writeFileSync(path, `${good}${bad}\n${good}`)
      await expect(open().load()).rejects.toMatchObject({ code: 'sandbox_store_unreadable' })
      expect(readFileSync(path, 'utf8')).toBe(`${good}${bad}\n${good}`)
    }
  })

  test('loses what is forgotten, and keeps what is saved under the same ref afterwards', async () => {
    const { open, lines } = place()
    const store = open()
    await store.load()
    const saves = ['1', '2', '3'].map(ref => store.save(payment(ref)))
    const forgotten = store.forget(new Set(['1', '3']))
    const again = store.save(payment('3', { state: 'void' }))
    await Promise.all([...saves, forgotten, again])
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['2', '3'])
    await store.close()
    const after = open()
    expect(await after.load()).toEqual([payment('2'), payment('3', { state: 'void' })])
    await after.close()
  })

  test('after thousands of saves and restarts at random holds what a store in memory holds', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const { path, open } = place()
    const reference = createMemoryStore()
    const byRef = (payments: readonly SandboxPayment[]) => new Map(payments.map(one => [one.ref, one]))
    for (let life = 0; life < 6; life++) {
      const store = open()
      expect(byRef(await store.load())).toEqual(byRef(await reference.load()))
      const begun: Promise<void>[] = []
      for (let n = 0; n < 500; n++) {
        const ref = String(Math.floor(random.next() * 100))
        if (random.next() < 0.01) {
          begun.push(store.forget(new Set([ref])), reference.forget(new Set([ref])))
        } else {
          const saved = payment(ref, { madeAtMs: n, state: random.next() < 0.5 ? 'open' : 'void' })
          begun.push(store.save(saved), reference.save(saved))
        }
        if (random.next() < 0.05) await Promise.all(begun.splice(0))
      }
      await Promise.all(begun)
      await store.close()
      appendFileSync(path, '{"ref":"tor')
    }
  })
})

test('a closed store takes nothing more', async () => {
  const { open } = place()
  const store = open()
  await store.load()
  await store.close()
  await expect(store.save(payment('1'))).rejects.toMatchObject({ code: 'sandbox_store_closed' })
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
    const store = open()
    await store.load()
    await store.save(payment('1'))
    const sync = spyOn(await handles(path), 'datasync').mockRejectedValueOnce(new Error('no space left'))
    try {
      await expect(store.save(payment('2'))).rejects.toMatchObject({
        code: 'sandbox_store_failed',
        outcomeUnknown: true,
      })
    } finally {
      sync.mockRestore()
    }
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1'])
    await store.save(payment('3'))
    await store.close()
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1', '3'])
  })

  test('so badly that half a line can not be cut off again makes every later save a fault', async () => {
    const { path, open, lines } = place()
    const store = open()
    await store.load()
    const files = await handles(path)
    const sync = spyOn(files, 'datasync').mockRejectedValueOnce(new Error('broken'))
    const cut = spyOn(files, 'truncate').mockRejectedValueOnce(new Error('broken'))
    try {
      await expect(store.save(payment('1'))).rejects.toMatchObject({ code: 'sandbox_store_failed' })
    } finally {
      sync.mockRestore()
      cut.mockRestore()
    }
    await expect(store.save(payment('2'))).rejects.toMatchObject({ code: 'sandbox_store_failed' })
    expect(lines().map(line => JSON.parse(line).ref)).toEqual(['1'])
    await store.close()
  })

  test('with the file gone does not take the rest for forgotten', async () => {
    const { path, open } = place()
    const store = open()
    await store.load()
    await store.save(payment('1'))
    rmSync(path)
    await expect(store.forget(new Set(['2']))).rejects.toMatchObject({ code: 'sandbox_store_failed' })
    await store.close()
  })
})
