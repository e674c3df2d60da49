import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blockedAt, mayReadAndRun } from './account.ts'

let root = ''
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'stampede-reach-')))
  chmodSync(root, 0o755)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const me = { name: 'me', uid: process.getuid!(), gid: process.getgid!() }
const mate = { name: 'mate', uid: me.uid + 1, gid: me.gid }
const stranger = { name: 'stranger', uid: me.uid + 1, gid: me.gid + 1 }

function folder(name: string, mode: number): string {
  const path = join(root, name)
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
  return path
}

test('names the outermost folder that an account may not enter', () => {
  const outer = folder('outer', 0o755)
  const closed = folder('outer/closed', 0o700)
  const inner = folder('outer/closed/inner', 0o755)
  const deep = folder('outer/closed/inner/deep', 0o700)
  expect(blockedAt(outer, stranger)).toBeUndefined()
  expect(blockedAt(inner, stranger)).toBe(closed)
  expect(blockedAt(deep, stranger)).toBe(closed)
  expect(blockedAt(deep, me)).toBeUndefined()
})

test('judges by the first class that fits, as the kernel does', () => {
  expect(blockedAt(folder('all', 0o711), stranger)).toBeUndefined()
  expect(blockedAt(folder('group', 0o710), mate)).toBeUndefined()
  expect(blockedAt(folder('group', 0o710), stranger)).toBe(join(root, 'group'))
  expect(blockedAt(folder('not-group', 0o701), mate)).toBe(join(root, 'not-group'))
  expect(mayReadAndRun(folder('enter-only', 0o711), stranger)).toBe(false)
  expect(mayReadAndRun(folder('enter-only', 0o711), me)).toBe(true)
})

test('judges the real path, not the one through links', () => {
  const closed = folder('hidden', 0o700)
  folder('hidden/target', 0o755)
  symlinkSync(join(closed, 'target'), join(root, 'link'))
  expect(blockedAt(join(root, 'link'), stranger)).toBe(closed)
})
