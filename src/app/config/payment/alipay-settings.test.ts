/** The keys of an Alipay account: every form that Alipay's tools write, and one clear line for everything else. */

import { afterAll, expect, test } from 'bun:test'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CERTIFICATES, KEYS } from '../../../payment/alipay/test-data/made-up-keys.fixture.ts'
import { readConfig } from '../config.ts'
import { alipayKind } from './alipay-settings.ts'
import { accountSettings, accountsOf } from './payment-accounts.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-alipay-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const own = createPrivateKey(KEYS.appA)
const publicPem = (pem: string) => createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString()
const bare = (pem: string) => pem.replace(/-----[^-]+-----|\s/g, '')
const rest = { ALIPAY_APP_ID: '2021000000000001', ALIPAY_METHODS: 'page', ALIPAY_GATEWAY: 'https://a.example/g.do' }
const kinds = { alipay: alipayKind }

/** The account that these settings make, or the line that stops the start. */
function open(texts: Readonly<Record<string, string>>, account?: string) {
  const settings = accountSettings(kinds, 'alipay', account)
  const values: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(texts)) {
    const parsed = settings[name]!.schema.safeParse(text)
    if (!parsed.success) return { problem: `${name} ${parsed.error.issues[0]?.message}`, settings: undefined }
    values[name] = parsed.data
  }
  const { accounts, missing } = accountsOf(kinds, [account ? `alipay.${account}` : 'alipay'], texts, values)
  return { problem: missing, settings: accounts[0]!.settings as Record<string, unknown> }
}
const keyMode = { ...rest, ALIPAY_PRIVATE_KEY: KEYS.appA, ALIPAY_PUBLIC_KEY: publicPem(KEYS.alipayA) }
const { ALIPAY_PUBLIC_KEY: _, ...withoutPublicKey } = keyMode
const certificateMode = {
  ...withoutPublicKey,
  ALIPAY_APP_CERT: CERTIFICATES.appA,
  ALIPAY_PUBLIC_CERT: CERTIFICATES.alipayA,
  ALIPAY_ROOT_CERT: CERTIFICATES.root,
}

test('a private key may be PKCS #1 or PKCS #8, PEM or base64, with line ends written out', () => {
  const pkcs1 = own.export({ type: 'pkcs1', format: 'pem' }).toString()
  for (const text of [KEYS.appA, pkcs1, bare(KEYS.appA), bare(pkcs1), KEYS.appA.trim().replaceAll('\n', '\\n')]) {
    const { problem, settings } = open({ ...keyMode, ALIPAY_PRIVATE_KEY: text })
    expect(problem).toBeUndefined()
    expect(createPublicKey(settings!.PRIVATE_KEY as never).equals(createPublicKey(own as never))).toBe(true)
  }
})

test("Alipay's public key may be PEM or base64", () => {
  for (const text of [publicPem(KEYS.alipayA), bare(publicPem(KEYS.alipayA))])
    expect(open({ ...keyMode, ALIPAY_PUBLIC_KEY: text }).problem).toBeUndefined()
})

test('a key that is none, too short or of another kind is named, and never shown', () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const curve = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const pkcs8 = { type: 'pkcs8', format: 'pem' } as const
  const texts = ['hush', '', '-----BEGIN PRIVATE KEY-----', KEYS.appA.slice(0, 900), publicPem(KEYS.appA)]
  for (const text of [...texts, short.privateKey.export(pkcs8).toString(), curve.privateKey.export(pkcs8).toString()]) {
    const { problem } = open({ ...keyMode, ALIPAY_PRIVATE_KEY: text })
    expect(problem).toStartWith('ALIPAY_PRIVATE_KEY must be an RSA private key of 2048 bits or more')
    expect(problem).not.toContain('hush')
  }
  expect(open({ ...keyMode, ALIPAY_PUBLIC_KEY: KEYS.appA }).problem).toStartWith('ALIPAY_PUBLIC_KEY must be Alipay')
  for (const name of ['ALIPAY_APP_CERT', 'ALIPAY_PUBLIC_CERT', 'ALIPAY_ROOT_CERT'])
    for (const text of ['x', KEYS.appA, CERTIFICATES.root.replace('MII', 'AAA')])
      expect(open({ ...certificateMode, [name]: text }).problem).toStartWith(`${name} must be `)
})

test('a broken key file is one line', () => {
  const file = fileOf('broken', KEYS.appA.slice(100))
  const { ALIPAY_PRIVATE_KEY: __, ...others } = keyMode
  expect(open({ ...others, ALIPAY_PRIVATE_KEY_FILE: file }).problem).toBe(
    `ALIPAY_PRIVATE_KEY_FILE: what ${file} holds must be an RSA private key of 2048 bits or more, PKCS #1 or PKCS #8, as PEM or base64`,
  )
  const whole = fileOf('whole', KEYS.appA)
  expect(open({ ...others, ALIPAY_PRIVATE_KEY_FILE: whole }).problem).toBeUndefined()
})

test('each mode is whole, and the two are not mixed', () => {
  expect(open(keyMode).problem).toBeUndefined()
  expect(open(certificateMode).problem).toBeUndefined()
  expect(open(withoutPublicKey).problem).toStartWith(
    'ALIPAY_PUBLIC_KEY is needed (or, for certificate mode, ALIPAY_APP_CERT',
  )
  const { ALIPAY_ROOT_CERT: ___, ...withoutRoot } = certificateMode
  expect(open(withoutRoot).problem).toBe('ALIPAY_APP_CERT needs ALIPAY_ROOT_CERT: certificate mode takes all three')
  expect(open({ ...certificateMode, ...keyMode }).problem).toStartWith('ALIPAY_PUBLIC_KEY is for key mode')
  expect(open({ ...certificateMode, ALIPAY_APP_CERT: CERTIFICATES.appB }).problem).toBe(
    'ALIPAY_APP_CERT is not the certificate of ALIPAY_PRIVATE_KEY',
  )
})

test("the app's own public key in the place of Alipay's is found out", () => {
  expect(open({ ...keyMode, ALIPAY_PUBLIC_KEY: publicPem(KEYS.appA) }).problem).toStartWith(
    "ALIPAY_PUBLIC_KEY is the app's own public key",
  )
})

test('ids, methods and the gateway have their shapes', () => {
  for (const [name, bad] of [
    ['ALIPAY_APP_ID', 'abc'],
    ['ALIPAY_SELLER_ID', '1234567890123456'],
    ['ALIPAY_METHODS', 'page,app'],
    ['ALIPAY_METHODS', 'qr,qr'],
    ['ALIPAY_GATEWAY', 'http://openapi.alipay.com/gateway.do'],
    ['ALIPAY_GATEWAY', 'https://a.example/g?x=1'],
    ['ALIPAY_GATEWAY', 'https://user@a.example/g'],
    ['ALIPAY_GATEWAY', 'no address'],
  ] as const)
    expect(open({ ...keyMode, [name]: bad }).problem).toStartWith(`${name} must be`)
  expect(open({ ...keyMode, ALIPAY_GATEWAY: 'http://127.0.0.1:8/gateway.do' }).problem).toBeUndefined()
})

test('a server reads all of it, a second account has its own, and nothing secret is shown', () => {
  const second = Object.fromEntries(Object.entries(keyMode).map(([name, text]) => [name.replace('_', '_HK_'), text]))
  const config = readConfig({ PAYMENT_PROVIDERS: 'alipay,alipay.hk', ...certificateMode, ...second })
  expect(config.paymentAccounts.map(({ name, kind }) => [name, kind])).toEqual([
    ['alipay', 'alipay'],
    ['alipay.hk', 'alipay'],
  ])
  const settings = accountSettings(kinds, 'alipay', 'hk')
  expect(settings.ALIPAY_HK_PRIVATE_KEY!.show?.('anything')).toBe('[hidden]')
  expect(settings.ALIPAY_HK_PUBLIC_CERT_FILE).toBeDefined()
  expect(() => readConfig({ PAYMENT_PROVIDERS: 'alipay', ...certificateMode, ALIPAY_PRIVATE_KEY: 'hush' })).toThrow(
    /^ALIPAY_PRIVATE_KEY.* must be an RSA private key/,
  )
})
