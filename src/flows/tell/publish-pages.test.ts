import { expect, test } from 'bun:test'
import { Fault } from '../../base/fault.ts'
import { noMeters } from '../../base/meters.ts'
import type { Sale } from '../../domain/sale.ts'
import { assertPagePath, type PageChange, type PageStore, type StaticFile } from '../../pages/page-store.ts'
import { PageNotices } from './page-notices.ts'
import { PagePublisher, type PageWriter } from './publish-pages.ts'

const silent = { info() {}, warn() {}, error() {}, debug() {} } as never
const ASSET = 'assets/buyer-0123456789abcdef.js'

/** A store in memory, of which a test can take something away behind the publisher's back, or that can refuse. */
class ShakyStore implements PageStore {
  readonly files = new Map<string, string>()
  readonly puts: string[] = []
  lists = 0
  refuses = false
  tagOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()
  async list() {
    this.lists += 1
    return new Map(this.files)
  }
  async put({ path, bytes }: StaticFile) {
    assertPagePath(path)
    if (this.refuses) throw new Fault('full', 'the store is full', { retryable: true })
    this.puts.push(path)
    this.files.set(path, this.tagOf(bytes))
    return this.tagOf(bytes)
  }
  async remove(path: string) {
    this.files.delete(path)
  }
}

function stage(store = new ShakyStore(), changesMax = 100) {
  let nowMs = 1_000_000
  let revision = 0
  const ledger: Sale[] = []
  const heard: PageChange[][] = []
  const refusing = { notice: false }
  let lists = 0
  const clock = { now: () => nowMs, elapsed: () => nowMs, sleep: async () => {} }
  const file = (path: string, text: string): StaticFile => {
    return { path, bytes: Buffer.from(text), contentType: 'text/html', cacheControl: 'no-cache' }
  }
  const writer: PageWriter = {
    assets: () => [file(ASSET, 'script')],
    sale: sale => file(`s/${sale.id}.html`, `page of ${sale.name}`),
    index: sales => file('index.html', sales.map(sale => sale.name).join()),
  }
  const notice = {
    name: 'purge',
    changesMax,
    async send(changes: readonly PageChange[]) {
      if (refusing.notice) throw new Fault('away', 'the CDN does not answer', { retryable: true })
      heard.push([...changes])
    },
  }
  const open = () =>
    new PagePublisher({
      sales: {
        list: async ({ limit }) => {
          lists += 1
          return ledger.slice(0, limit)
        },
      },
      saleChanges: {
        since: async mark => ({ mark: `${revision}`, changed: mark !== `${revision}` }),
      },
      store,
      notices: new PageNotices({ clock, log: silent, meters: noMeters }, [notice]),
      writer: async () => writer,
      clock,
      meters: noMeters,
    })
  return {
    store,
    heard,
    refusing,
    open,
    lists: () => lists,
    pass: (ms: number) => {
      nowMs += ms
    },
    set(...sales: readonly Partial<Sale>[]) {
      ledger.splice(
        0,
        ledger.length,
        ...sales.map(one => ({ state: 'ready', closesAtMs: 1e15, items: [], ...one }) as never),
      )
      revision += 1
    },
  }
}

async function settle(publisher: PagePublisher) {
  for (let i = 0; i < 50; i++) if (!(await publisher.round())) return
  throw new Error('there is always more')
}

test('publishing, changing and taking back a sale writes, replaces and removes its page, files before pages', async () => {
  const { store, set, open, heard, pass } = stage()
  const publisher = open()
  set({ id: '1', name: 'one' }, { id: '2', name: 'two' })
  await settle(publisher)
  expect(store.puts).toEqual([ASSET, 's/1.html', 's/2.html', 'index.html'])
  expect(heard.flat().map(({ path }) => path)).toEqual(store.puts)

  set({ id: '1', name: 'one' }, { id: '2', name: 'two, changed' })
  pass(1_000)
  await settle(publisher)
  expect(store.puts.slice(4)).toEqual(['s/2.html', 'index.html'])
  expect(store.files.get('s/2.html')).toBe('page of two, changed')

  set({ id: '1', name: 'one' })
  pass(1_000)
  await settle(publisher)
  expect([...store.files.keys()].sort()).toEqual([ASSET, 'index.html', 's/1.html'])
  expect(heard.flat()).toContainEqual({ path: 's/2.html', what: 'removed' })
})

test('a round in which nothing has changed reads no sale and writes nothing', async () => {
  const { store, set, open, lists, pass } = stage()
  const publisher = open()
  set(...Array.from({ length: 120 }, (_, i) => ({ id: `${i + 1}`, name: `sale ${i}` })))
  await settle(publisher)
  expect(store.files.size).toBe(122)
  const [before, puts] = [lists(), store.puts.length]
  for (let i = 0; i < 20; i++) {
    pass(1_000)
    await publisher.round()
  }
  expect([lists(), store.puts.length]).toEqual([before, puts])
})

test('what was lost, replaced or added behind its back is found within a minute', async () => {
  const { store, set, open, pass } = stage()
  const publisher = open()
  set({ id: '1', name: 'one' }, { id: '2', name: 'two' })
  await settle(publisher)
  store.files.delete('s/1.html')
  store.files.set('s/2.html', 'an older leader wrote this')
  store.files.set('s/9.html', 'of a sale that was deleted')
  store.files.set('assets/buyer-ffffffffffffffff.js', 'of the version before')
  for (let i = 0; i < 15; i++) {
    pass(4_000)
    await settle(publisher)
  }
  expect(store.files.get('s/1.html')).toBe('page of one')
  expect(store.files.get('s/2.html')).toBe('page of two')
  expect(store.files.has('s/9.html')).toBe(false)
  // A buyer may have the page open that needs it.
  expect(store.files.has('assets/buyer-ffffffffffffffff.js')).toBe(true)
})

test('the next leader writes only what differs, and tells of everything: the one before may have died in between', async () => {
  const { store, set, open, heard } = stage()
  set({ id: '1', name: 'one' }, { id: '2', name: 'two' })
  await settle(open())
  store.files.set('s/2.html', 'half done')
  store.puts.length = 0
  heard.length = 0
  await settle(open())
  expect(store.puts).toEqual(['s/2.html'])
  expect(new Set(heard.flat().map(({ path }) => path))).toEqual(new Set([ASSET, 's/1.html', 's/2.html', 'index.html']))
})

test('a process that led, did not lead, and leads again compares before it believes what it knows', async () => {
  const { store, set, open, pass } = stage()
  const publisher = open()
  set({ id: '1', name: 'one' })
  await settle(publisher)
  store.files.set('s/1.html', 'written by the leader in between')
  pass(6_000)
  await settle(publisher)
  expect(store.files.get('s/1.html')).toBe('page of one')
})

test('a store that refuses is trouble until it takes pages again, and no page is forgotten', async () => {
  const { store, set, open, pass } = stage()
  const publisher = open()
  set({ id: '1', name: 'one' })
  store.refuses = true
  expect(publisher.round()).rejects.toThrow('the store is full')
  await publisher.round().catch(() => {})
  expect(publisher.troubles()).toEqual([{ which: 'store', sinceMs: 1_000_000, words: 'the store is full' }])
  store.refuses = false
  pass(1_000)
  await settle(publisher)
  expect(publisher.troubles()).toEqual([])
  expect(store.files.get('s/1.html')).toBe('page of one')
})

test('a notice that fails is sent again with growing waits, in bounded calls, and stops no page', async () => {
  const { store, set, open, heard, refusing, pass } = stage(new ShakyStore(), 2)
  const publisher = open()
  refusing.notice = true
  set({ id: '1', name: 'one' }, { id: '2', name: 'two' })
  await settle(publisher)
  expect(store.files.size).toBe(4)
  expect(publisher.troubles()).toEqual([{ which: 'purge', sinceMs: 1_000_000, words: 'the CDN does not answer' }])
  set({ id: '1', name: 'one, changed' }, { id: '2', name: 'two' })
  pass(1_000)
  await settle(publisher)
  expect(store.files.get('s/1.html')).toBe('page of one, changed')
  refusing.notice = false
  // It is not asked before its wait is over.
  await publisher.round()
  expect(heard).toEqual([])
  pass(4_000)
  await publisher.round()
  expect(heard.map(one => one.length)).toEqual([2, 2])
  expect(new Set(heard.flat().map(({ path }) => path)).size).toBe(4)
  expect(publisher.troubles()).toEqual([])
})

test('the number of pages is bounded', async () => {
  const { store, set, open } = stage()
  set(...Array.from({ length: 1_100 }, (_, i) => ({ id: `${i + 1}`, name: `sale ${i}` })))
  await settle(open())
  expect([...store.files.keys()].filter(path => path.startsWith('s/'))).toHaveLength(1_000)
})
