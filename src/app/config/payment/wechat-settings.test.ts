/** The keys of WeChat Pay: what is wrong with them stops the start with one line, which never tells the key. */

import { afterAll, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from '../config.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-wechat-keys-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (name: string, text: string) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const pemOf = (key: typeof privateKey) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const PEM = pemOf(privateKey)
const PUBLIC_PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString()

const whole = {
  PAYMENT_PROVIDERS: 'wechat',
  WECHAT_MCH_ID: '1900007291',
  WECHAT_APP_ID: 'wx8888888888888888',
  WECHAT_API_V3_KEY: 'a7cde1ZJB1kG2e7VfTs3jQzaWizur8Gb',
  WECHAT_PRIVATE_KEY: PEM,
  WECHAT_SERIAL_NO: '3775B6A45ACD588826D15E583A95F5DD00000001',
}
const settingsOf = (more: Record<string, string> = {}) => readConfig({ ...whole, ...more }).paymentAccounts[0]!.settings
const problemOf = (more: Record<string, string | undefined>) => {
  try {
    readConfig({ ...whole, ...more })
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return undefined
}

test('the least that is needed is enough', () => {
  expect(settingsOf()).toEqual({
    MCH_ID: '1900007291',
    APP_ID: 'wx8888888888888888',
    API_V3_KEY: 'a7cde1ZJB1kG2e7VfTs3jQzaWizur8Gb',
    PRIVATE_KEY: PEM,
    SERIAL_NO: '3775B6A45ACD588826D15E583A95F5DD00000001',
    PUBLIC_KEY: undefined,
    API_BASE: 'https://api.mch.weixin.qq.com',
    METHODS: ['native'],
  } as never)
  expect(settingsOf({ WECHAT_METHODS: 'h5, native' })).toMatchObject({ METHODS: ['h5', 'native'] } as never)
})

test('a key may be in one line, or in a file', () => {
  expect(settingsOf({ WECHAT_PRIVATE_KEY: PEM.trim().replaceAll('\n', '\\n') })).toMatchObject({
    PRIVATE_KEY: PEM.trim(),
  } as never)
  const file = fileOf('key.pem', PEM)
  expect(settingsOf({ WECHAT_PRIVATE_KEY: '', WECHAT_PRIVATE_KEY_FILE: file })).toMatchObject({
    PRIVATE_KEY: PEM.trim(),
  } as never)
})

test('public keys have their ids, the newest first', () => {
  const text = `PUB_KEY_ID_02\n${PUBLIC_PEM}\nPUB_KEY_ID_01\n${PUBLIC_PEM}`
  const { PUBLIC_KEY } = settingsOf({ WECHAT_PUBLIC_KEY: text }) as unknown as {
    PUBLIC_KEY: { id: string; pem: string }[]
  }
  expect(PUBLIC_KEY.map(({ id }) => id)).toEqual(['PUB_KEY_ID_02', 'PUB_KEY_ID_01'])
  expect(PUBLIC_KEY[0]!.pem).toBe(PUBLIC_PEM.trim())
  const broken = `PUB_KEY_ID_01\n${PUBLIC_PEM.replace(/^MII/m, 'AAA')}`
  for (const bad of [PUBLIC_PEM, 'PUB_KEY_ID_01', `x ${text}`, `${text} x`, broken, `PUB_KEY_ID_01\n${PEM}`])
    expect(problemOf({ WECHAT_PUBLIC_KEY: bad })).toMatch(/^WECHAT_PUBLIC_KEY: must be /)
})

test('what is malformed is one line that names the setting and not the key', () => {
  for (const [name, bad] of [
    ['WECHAT_MCH_ID', '19-7'],
    ['WECHAT_APP_ID', '8888888888888888'],
    ['WECHAT_API_V3_KEY', 'short-hush'],
    ['WECHAT_PRIVATE_KEY', 'hush'],
    ['WECHAT_PRIVATE_KEY', PEM.slice(0, 900)],
    ['WECHAT_PRIVATE_KEY', PUBLIC_PEM],
    ['WECHAT_PRIVATE_KEY', pemOf(small)],
    ['WECHAT_PRIVATE_KEY', pemOf(curve)],
    ['WECHAT_SERIAL_NO', 'hush'],
    ['WECHAT_API_BASE', 'ftp://x'],
    ['WECHAT_API_BASE', 'http://x.example'],
    ['WECHAT_API_BASE', 'https://x.example/v3'],
    ['WECHAT_METHODS', 'native,app'],
    ['WECHAT_METHODS', 'native,native'],
    ['WECHAT_METHODS', ','],
  ] as const) {
    const line = problemOf({ [name]: bad })
    expect(line).toMatch(new RegExp(`^${name}: (must|names) `))
    expect(line).not.toMatch(/hush|MII|\n/)
  }
})

test('a key file that is missing, empty or broken stops the start with one line', () => {
  const inFile = (file: string) => problemOf({ WECHAT_PRIVATE_KEY: undefined, WECHAT_PRIVATE_KEY_FILE: file })
  expect(inFile(join(folder, 'away'))).toMatch(/^WECHAT_PRIVATE_KEY_FILE: .*away can't be read \(ENOENT\)$/)
  expect(inFile(fileOf('empty.pem', '\n'))).toMatch(/^WECHAT_PRIVATE_KEY_FILE: .*empty\.pem is empty$/)
  const broken = inFile(fileOf('broken.pem', PEM.replace(/[A-Z]/g, 'x')))
  expect(broken).toMatch(/^WECHAT_PRIVATE_KEY_FILE: what .*broken\.pem holds must be an RSA private key in PEM/)
  expect(problemOf({ WECHAT_PRIVATE_KEY: undefined })).toBe(
    'PAYMENT_PROVIDERS names wechat, which needs WECHAT_PRIVATE_KEY (or WECHAT_PRIVATE_KEY_FILE)',
  )
})

test('keys are hidden where settings are shown, those of further accounts too', () => {
  const two = Object.fromEntries(
    Object.entries(whole).map(([name, value]) => [name.replace('WECHAT_', 'WECHAT_TWO_'), value]),
  )
  const shown = JSON.stringify(readConfig({ ...whole, ...two, PAYMENT_PROVIDERS: 'wechat,wechat.two' }).shown)
  expect(shown).toContain('1900007291')
  expect(shown).not.toMatch(/a7cde1|BEGIN|MII/)
})
