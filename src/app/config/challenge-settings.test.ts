/** With which settings of a challenge provider a server starts, and what it says of the others. */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-challenge-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SECRET = '0x4AAAAAAA-hush-hush'
const GOOD = {
  CHALLENGE_PROVIDER: 'turnstile',
  CHALLENGE_SITE_KEY: '0x4AAAAAAA-site',
  CHALLENGE_SECRET: SECRET,
  PUBLIC_URL: 'https://sale.example.com',
}
const lineOf = (more: Record<string, string>) => {
  try {
    readConfig({ ...GOOD, ...more })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test("a provider's own addresses and hosts, and the host of PUBLIC_URL, are what counts", () => {
  expect(readConfig({}).challengeProvider).toBeUndefined()
  expect(readConfig(GOOD).challengeProvider).toEqual({
    name: 'turnstile',
    siteKey: '0x4AAAAAAA-site',
    secret: SECRET,
    hostnames: ['sale.example.com'],
    verifyUrl: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
    script: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
    hosts: ['https://challenges.cloudflare.com'],
    timeoutMs: 2_000,
    whenDown: 'deny',
  })
  const moved = readConfig({
    ...GOOD,
    CHALLENGE_PROVIDER: 'hcaptcha',
    CHALLENGE_SCRIPT_URL: 'https://proxy.example/x.js',
  })
  expect(moved.challengeProvider?.hosts).toEqual(['https://proxy.example'])
})

test('the secret may be in a file, and is shown nowhere', () => {
  const file = join(folder, 'secret')
  writeFileSync(file, `${SECRET}\n`)
  const config = readConfig({ ...GOOD, CHALLENGE_SECRET: '', CHALLENGE_SECRET_FILE: file })
  expect(config.challengeProvider?.secret).toBe(SECRET)
  expect(JSON.stringify([config.shown, readConfig(GOOD).shown])).not.toContain(SECRET)
  writeFileSync(file, 'short')
  const line = lineOf({ CHALLENGE_SECRET: '', CHALLENGE_SECRET_FILE: file })
  expect(line).toBe(`CHALLENGE_SECRET_FILE: what ${file} holds must be 8 to 500 printable characters without spaces`)
})

test('what is missing or can not go together stops the start, in one line that names it', () => {
  const lines: [Record<string, string>, string][] = [
    [{ CHALLENGE_PROVIDER: 'acme' }, 'CHALLENGE_PROVIDER: must be turnstile or hcaptcha'],
    [{ CHALLENGE_PROVIDER: '' }, 'CHALLENGE_SITE_KEY needs CHALLENGE_PROVIDER'],
    [{ CHALLENGE_SITE_KEY: '' }, 'also needs CHALLENGE_SITE_KEY'],
    [{ CHALLENGE_SECRET: '' }, 'also needs CHALLENGE_SECRET (or CHALLENGE_SECRET_FILE)'],
    [{ PUBLIC_URL: '' }, 'also needs PUBLIC_URL (or CHALLENGE_HOSTNAMES)'],
    [{ CHALLENGE_SECRET_FILE: '/none' }, 'are both set'],
    [{ CHALLENGE_SECRET: '', CHALLENGE_SECRET_FILE: join(folder, 'none') }, "can't be read (ENOENT)"],
    [{ CHALLENGE_VERIFY_URL: 'http://elsewhere.example/' }, 'CHALLENGE_VERIFY_URL: must be an https address'],
    [{ CHALLENGE_WHEN_DOWN: 'maybe' }, 'CHALLENGE_WHEN_DOWN: must be deny or allow'],
  ]
  for (const [more, line] of lines) expect(lineOf(more)).toContain(line)
})
