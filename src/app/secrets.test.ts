import { expect, test } from 'bun:test'
import { derivedSecret } from './secrets.ts'

const OLD = 'k1:0123456789abcdef-old'
const NEW = 'k2:0123456789abcdef-new'

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
