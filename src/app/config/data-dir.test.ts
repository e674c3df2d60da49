import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDataDir } from './data-dir.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stampede-data-dir-'))
  mkdirSync(join(folder, 'data'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function link(name: string, elsewhere: string): void {
  mkdirSync(join(folder, elsewhere))
  writeFileSync(join(folder, elsewhere, 'PG_VERSION'), '18')
  symlinkSync(join(folder, elsewhere), join(folder, 'data', name))
}

test('linked data is removed with the folder, also that of an interrupted start', () => {
  link('postgres', 'data-00ff')
  link('postgres.new-12', 'data-a1')
  removeDataDir(join(folder, 'data'))
  expect(readdirSync(folder)).toEqual([])
})

test('a folder that the embedded server did not make stays, and only the link to it is removed', () => {
  link('postgres', 'ours')
  link('notes', 'data-beef')
  removeDataDir(join(folder, 'data'))
  expect(readdirSync(folder).sort()).toEqual(['data-beef', 'ours'])
  expect(existsSync(join(folder, 'ours', 'PG_VERSION'))).toBe(true)
})

test('a folder that does not exist is no error', () => {
  rmSync(join(folder, 'data'), { recursive: true })
  removeDataDir(join(folder, 'data'))
  expect(readdirSync(folder)).toEqual([])
})
