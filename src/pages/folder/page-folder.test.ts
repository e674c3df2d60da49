import { afterEach, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { systemRandom } from '../../base/random.ts'
import { createPageFolder } from './page-folder.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function open(below = 'new/pages') {
  const root = mkdtempSync(join(tmpdir(), 'stampede-pages-'))
  folders.push(root)
  const folder = join(root, below)
  return { root, folder, store: createPageFolder(folder, { clock: systemClock, random: systemRandom }) }
}

const file = (path: string, text: string) => ({
  path,
  bytes: Buffer.from(text),
  contentType: 'text/html',
  cacheControl: 'no-cache',
})
const ASSET = 'assets/buyer-0123456789abcdef.js'

test('what was put is listed with its tag, replaced whole, and gone when removed', async () => {
  const { folder, store } = open()
  expect(await store.list()).toEqual(new Map())
  const tag = await store.put(file('s/12.html', 'one'))
  expect(tag).toBe(store.tagOf(Buffer.from('one')))
  await store.put(file('index.html', 'front'))
  await store.put(file(ASSET, 'script'))
  expect([...(await store.list()).keys()].sort()).toEqual([ASSET, 'index.html', 's/12.html'])
  expect(gunzipSync(readFileSync(join(folder, `${ASSET}.gz`))).toString()).toBe('script')
  // A web server with another user reads it.
  for (const one of [folder, join(folder, 's')]) expect(statSync(one).mode & 0o777).toBe(0o755)
  expect(statSync(join(folder, 's/12.html')).mode & 0o777).toBe(0o644)

  await store.put(file('s/12.html', 'two'))
  expect((await store.list()).get('s/12.html')).toBe(store.tagOf(Buffer.from('two')))
  await store.remove('s/12.html')
  await store.remove('s/12.html')
  expect([...(await store.list()).keys()].sort()).toEqual([ASSET, 'index.html'])
  expect(readdirSync(join(folder, 's'))).toEqual([])
})

test('a reader never sees half a page, however often it is replaced', async () => {
  const { folder, store } = open()
  const texts = Array.from({ length: 40 }, (_, i) => `${i}`.padStart(2, '0').repeat(200_000))
  await store.put(file('s/1.html', texts[0]!))
  let writing = true
  const seen = new Set<string>()
  const reading = (async () => {
    while (writing) {
      seen.add(readFileSync(join(folder, 's/1.html'), 'utf8'))
      await systemClock.sleep(0)
    }
  })()
  for (const text of texts) await store.put(file('s/1.html', text))
  writing = false
  await reading
  for (const text of seen) expect(texts.includes(text)).toBe(true)
})

test('files of others are neither listed nor touched, and what a crash left is cleared away when it is old', async () => {
  const { folder, store } = open()
  mkdirSync(join(folder, 's'), { recursive: true })
  for (const name of ['nginx.conf', 's/notes.txt', 's/.unfinished-old', 's/.unfinished-new', 's/012.html'])
    writeFileSync(join(folder, name), 'x')
  utimesSync(join(folder, 's/.unfinished-old'), 1_000, 1_000)
  expect(await store.list()).toEqual(new Map())
  expect(readdirSync(join(folder, 's')).sort()).toEqual(['.unfinished-new', '012.html', 'notes.txt'])
})

test('no path leads out of the folder, or to a name that is no page', async () => {
  const { store } = open()
  for (const path of [
    '../x.html',
    's/../../x.html',
    's/1.html/../../x',
    '/etc/x',
    's/x.html',
    's/1.html\n',
    'assets/ops-0123456789abcdef.js',
    'nginx.conf',
    '',
  ]) {
    expect(() => store.put(file(path, 'x')), path).toThrow('no path of a page')
    expect(() => store.remove(path), path).toThrow('no path of a page')
  }
})

test('a folder that can not be written is a fault that names it', async () => {
  const { root, store, folder } = open('file/pages')
  writeFileSync(join(root, 'file'), 'not a folder')
  const error = await store.put(file('s/1.html', 'x')).catch(fault => fault)
  expect(error).toBeInstanceOf(Fault)
  expect(error.message).toContain(folder)
  expect(error.message).toMatch(/ENOTDIR|EEXIST/)
})
