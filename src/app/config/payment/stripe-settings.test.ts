/** Which keys of Stripe a server starts with, and what it says of the others. */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../config.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-stripe-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const GOOD = {
  PAYMENT_PROVIDERS: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_51HushHush',
  STRIPE_WEBHOOK_SECRET: 'whsec_aaaaaaaaaa, whsec_bbbbbbbbbb',
}
/** The line that stops a server. */
const lineOf = (more: Record<string, string | undefined>) => {
  try {
    return readConfig({ ...GOOD, ...more }).missing
  } catch (error) {
    return (error as Error).message
  }
}

test('a secret or restricted key, one or several webhook secrets, and where the API is', () => {
  const { paymentAccounts } = readConfig({ ...GOOD, STRIPE_PUBLISHABLE_KEY: 'pk_test_1' })
  expect(paymentAccounts).toEqual([
    {
      name: 'stripe',
      kind: 'stripe',
      settings: {
        SECRET_KEY: 'sk_test_51HushHush',
        WEBHOOK_SECRET: ['whsec_aaaaaaaaaa', 'whsec_bbbbbbbbbb'],
        PUBLISHABLE_KEY: 'pk_test_1',
        API_BASE: 'https://api.stripe.com',
      },
    },
  ])
  for (const key of ['rk_live_1', 'sk_live_1']) expect(lineOf({ STRIPE_SECRET_KEY: key })).toBeUndefined()
})

test('a key of the wrong kind is one line, which does not tell the key', () => {
  for (const key of ['pk_test_51HushHush', 'sk_51HushHush', 'whsec_HushHush', 'sk_test_Hush Hush']) {
    const line = lineOf({ STRIPE_SECRET_KEY: key })
    expect(line).toStartWith('STRIPE_SECRET_KEY')
    expect(line).not.toContain('Hush')
  }
  for (const secret of ['sk_test_HushHush', 'whsec_aaaaaaaaaa,Hush', 'whsec_'])
    expect(lineOf({ STRIPE_WEBHOOK_SECRET: secret })).toMatch(/^STRIPE_WEBHOOK_SECRET: must be signing secrets/)
  expect(lineOf({ STRIPE_API_BASE: 'https://user:pass@api.example/v1' })).toMatch(/^STRIPE_API_BASE: must be/)
  // The secret key goes with every call.
  expect(lineOf({ STRIPE_API_BASE: 'http://api.stripe.com' })).toMatch(/^STRIPE_API_BASE: must be an https address/)
  expect(lineOf({ STRIPE_API_BASE: 'http://localhost.example' })).toMatch(/^STRIPE_API_BASE: must be an https address/)
  for (const home of ['http://127.0.0.1:12111', 'http://localhost:12111', 'http://[::1]:12111'])
    expect(lineOf({ STRIPE_API_BASE: home })).toBeUndefined()
  expect(lineOf({ STRIPE_PUBLISHABLE_KEY: 'pk_live_1' })).toBe(
    'STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY are of different modes: both must be test keys or live keys',
  )
})

test('a key file that is missing, empty or holds something else is one line, which does not tell what it holds', () => {
  const file = join(folder, 'key')
  const line = () => lineOf({ STRIPE_SECRET_KEY: undefined, STRIPE_SECRET_KEY_FILE: file })
  expect(line()).toBe(`STRIPE_SECRET_KEY_FILE: ${file} can't be read (ENOENT)`)
  writeFileSync(file, '\n')
  expect(line()).toBe(`STRIPE_SECRET_KEY_FILE: ${file} is empty`)
  writeFileSync(file, '-----BEGIN HUSH-----')
  expect(line()).toBe(
    `STRIPE_SECRET_KEY_FILE: what ${file} holds must be a secret key like sk_live_… or a restricted one like rk_live_…`,
  )
  writeFileSync(file, 'rk_live_1\n')
  expect(line()).toBeUndefined()
})
