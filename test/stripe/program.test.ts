/** stripe-mock as a program: what is missing is one line, said once. */

import { afterAll, afterEach, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureStripeMock, STRIPE_MOCK_MISSING_VARIABLE } from './program.ts'

const NAMES = [STRIPE_MOCK_MISSING_VARIABLE, 'XDG_CACHE_HOME']
const before = { ...process.env }
const put = (name: string, value: string | undefined) => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
const folder = mkdtempSync(join(tmpdir(), 'stampede-stripe-mock-'))
afterEach(() => {
  for (const name of NAMES) put(name, before[name])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a run that could not build it: each file fails at once, with the same line', () => {
  put(STRIPE_MOCK_MISSING_VARIABLE, 'stripe-mock could not be built: go install: no network')
  const said: string[] = []
  expect(() => ensureStripeMock(line => said.push(line))).toThrow('go install: no network')
  expect(said).toEqual([])
})

test('a Go that is too old says so, and what to do', () => {
  put(STRIPE_MOCK_MISSING_VARIABLE, undefined)
  put('XDG_CACHE_HOME', folder)
  const old = join(folder, 'go')
  writeFileSync(old, '#!/bin/sh\necho go version go1.19.8 linux/amd64\n')
  chmodSync(old, 0o755)
  expect(() => ensureStripeMock(() => {}, [old])).toThrow(
    "the tests of Stripe's requests need Go 1.22 or newer to build stripe-mock, and this machine has go1.19.8: install it from https://go.dev/dl",
  )
})
