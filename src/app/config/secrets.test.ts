import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom } from '../../base/random.ts'
import { readConfig } from './config.ts'
import { keepSecret, ownSecret } from './secrets.ts'

const OLD = 'k1:0123456789abcdef-old'
const NEW = 'k2:0123456789abcdef-new'
const CLUSTER = {
  DATABASE_URL: 'postgres://db/x',
  REDIS_URL: 'redis://a:1',
  ADMIN_TOKEN: 'a'.repeat(16),
  GUEST_SIGN_IN: 'on',
}

/** As a process of a cluster with these keys has it. */
const derivedSecret = (TICKET_KEYS: string, purpose: string) =>
  ownSecret(readConfig({ ...CLUSTER, TICKET_KEYS }), systemRandom, 'unused', purpose)

test('a derived secret is the same in every process, and another for every purpose and key', () => {
  expect(derivedSecret(OLD, 'guest')).toBe(derivedSecret(` ${OLD} `, 'guest'))
  const all = [derivedSecret(OLD, 'guest'), derivedSecret(OLD, 'sandbox'), derivedSecret(NEW, 'guest')]
  expect(new Set(all).size).toBe(3)
  for (const secret of all) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
})

test('it stays what it was when a newer key is put in front, and changes when the oldest goes', () => {
  expect(derivedSecret(`${NEW},${OLD}`, 'guest')).toBe(derivedSecret(OLD, 'guest'))
  expect(derivedSecret(NEW, 'guest')).not.toBe(derivedSecret(`${NEW},${OLD}`, 'guest'))
})

describe('a data folder that can not keep a secret is one clear line:', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-secrets-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const keep = (dataDir: string) => () => keepSecret(dataDir, 'ticket-key', systemRandom)
  const refused = (words: string) => expect.objectContaining({ name: 'Fault', message: expect.stringContaining(words) })

  test('the folder can not be made or written', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(keep(file)).toThrow(refused(`DATA_DIR: ${file} can't keep the secrets`))
    expect(keep(join(file, 'data'))).toThrow(refused('DATA_DIR: '))
  })

  test('the file holds no secret; once it is removed, one is made and kept', () => {
    writeFileSync(join(folder, 'ticket-key'), 'hunter2\n')
    expect(keep(folder)).toThrow(refused(`${join(folder, 'ticket-key')} holds no secret`))
    expect(keep(folder)).not.toThrow(/hunter2/)
    rmSync(join(folder, 'ticket-key'))
    const made = keep(folder)()
    expect(keep(folder)()).toEqual(made)
    expect(made.value).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })
})
