/** Which payment providers are named, and where their keys come from. */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ConfigError, readConfig } from '../config.ts'
import { accountsOf, furtherSettingsOf, paymentProvidersOf } from './payment-accounts.ts'
import { paymentKind } from './payment-kind.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-payment-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

/** A kind as the settings file of a provider declares it. */
const acme = paymentKind({
  settings: {
    SECRET_KEY: {
      about: 'The key.',
      schema: z.string().startsWith('sk_', 'must begin with sk_'),
      key: true,
      required: true,
    },
    API_BASE: { about: 'The address.', schema: z.string(), default: 'https://api.acme.example' },
  },
  check: (values, nameOf) => (values.API_BASE === 'both' ? `${nameOf('API_BASE')} is both` : undefined),
})
const kinds = { sandbox: paymentKind({ settings: {}, single: true }), acme }

const problemOf = (text: string) => paymentProvidersOf(kinds).safeParse(text).error?.issues[0]?.message

test('names are kinds that are built, with or without an account', () => {
  for (const good of ['acme', 'acme.eu', 'sandbox,acme.eu2,acme']) expect(problemOf(good)).toBeUndefined()
  expect(problemOf('acme,paypal')).toBe('"paypal" is none of those that are built: sandbox, acme')
  expect(problemOf('toString')).toContain('is none of those that are built')
  expect(problemOf('acme.EU')).toContain('lower-case letters and digits')
  expect(problemOf('acme.')).toContain('lower-case letters and digits')
  expect(problemOf('acme.a.b')).toContain('lower-case letters and digits')
  expect(problemOf('sandbox.eu')).toBe('sandbox has no accounts: write sandbox')
  expect(problemOf('acme,acme')).toBe('names acme twice')
})

test('a kind that is not built stops the start with one line', () => {
  expect(() => readConfig({ PAYMENT_PROVIDERS: 'paypal' })).toThrow(ConfigError)
  expect(() => readConfig({ PAYMENT_PROVIDERS: 'paypal' })).toThrow(/^PAYMENT_PROVIDERS: "paypal" is none of those/)
  expect(readConfig({}).paymentAccounts).toEqual([
    { name: 'sandbox', kind: 'sandbox', settings: { METHODS: ['page'] } },
  ])
})

test('every further account has settings of its own, and keys are hidden', () => {
  const further = furtherSettingsOf(kinds, 'acme,acme.eu, acme.us')
  expect(Object.keys(further)).toEqual([
    'ACME_EU_SECRET_KEY',
    'ACME_EU_SECRET_KEY_FILE',
    'ACME_EU_API_BASE',
    'ACME_US_SECRET_KEY',
    'ACME_US_SECRET_KEY_FILE',
    'ACME_US_API_BASE',
  ])
  expect(further.ACME_EU_SECRET_KEY!.show?.('sk_1')).toBe('[hidden]')
  expect(furtherSettingsOf(kinds, 'nonsense.eu,acme.EU')).toEqual({})
})

test('a key is in its setting or in a file, and each account has its own', () => {
  const texts = { ACME_EU_SECRET_KEY_FILE: fileOf('eu', 'sk_eu\n') }
  const values = { ACME_SECRET_KEY: 'sk_1', ACME_API_BASE: 'a', ACME_EU_API_BASE: 'b' }
  expect(accountsOf(kinds, ['acme', 'acme.eu'], texts, values)).toEqual({
    accounts: [
      { name: 'acme', kind: 'acme', settings: { SECRET_KEY: 'sk_1', API_BASE: 'a' } },
      { name: 'acme.eu', kind: 'acme', settings: { SECRET_KEY: 'sk_eu', API_BASE: 'b' } },
    ],
    missing: undefined,
  })
  const both = furtherSettingsOf(kinds, 'acme.eu').ACME_EU_SECRET_KEY_FILE!
  expect(both.conflict?.({ ACME_EU_SECRET_KEY: 'sk' }, '')).toBe(
    'ACME_EU_SECRET_KEY and ACME_EU_SECRET_KEY_FILE are both set: unset one of them',
  )
})

test('a key that is missing or broken stops a server with one line, which never tells the key', () => {
  const missingOf = (texts: Record<string, string>, values = {}) => accountsOf(kinds, ['acme'], texts, values).missing
  expect(missingOf({})).toBe('PAYMENT_PROVIDERS names acme, which needs ACME_SECRET_KEY (or ACME_SECRET_KEY_FILE)')
  const away = join(folder, 'away')
  expect(missingOf({ ACME_SECRET_KEY_FILE: away })).toBe(`ACME_SECRET_KEY_FILE: ${away} can't be read (ENOENT)`)
  const empty = fileOf('empty', ' \n')
  expect(missingOf({ ACME_SECRET_KEY_FILE: empty })).toBe(`ACME_SECRET_KEY_FILE: ${empty} is empty`)
  const broken = fileOf('broken', 'pk_hush')
  expect(missingOf({ ACME_SECRET_KEY_FILE: broken })).toBe(
    `ACME_SECRET_KEY_FILE: what ${broken} holds must begin with sk_`,
  )
  expect(missingOf({}, { ACME_SECRET_KEY: 'sk_1', ACME_API_BASE: 'both' })).toBe('ACME_API_BASE is both')
})
