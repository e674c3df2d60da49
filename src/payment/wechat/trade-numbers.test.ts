import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import { refOf, refundNoOf, tradeNoOf } from './trade-numbers.ts'

const ALLOWED = /^[0-9A-Za-z_\-*]{6,32}$/

test('a ref of the ledger is its own order number', () => {
  expect(tradeNoOf('7299384756102938475')).toBe('7299384756102938475')
  expect(refOf('7299384756102938475', undefined)).toBe('7299384756102938475')
})

test('every ref has a number that WeChat Pay allows, of its own, and it leads back', () => {
  const seed = 20_261_118
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const letters = 'ab-_0'
  const refs = new Set(['a', 'a-', '-', '_', 'x'.repeat(32), 'x'.repeat(33), 'x'.repeat(64)])
  for (let i = 0; i < 2_000; i++) {
    const length = 1 + Math.floor(random.next() * 64)
    refs.add(Array.from({ length }, () => letters[Math.floor(random.next() * letters.length)]).join(''))
  }
  const numbers = new Set<string>()
  for (const ref of refs) {
    const no = tradeNoOf(ref)
    expect(no).toMatch(ALLOWED)
    expect(refOf(no, ref)).toBe(ref)
    if (ref.length <= 32) expect(refOf(no, undefined)).toBe(ref)
    numbers.add(no)
  }
  expect(numbers.size).toBe(refs.size)
})

test('a number that no ref has leads nowhere', () => {
  const long = 'x'.repeat(40)
  expect(refOf(tradeNoOf(long), undefined)).toBeUndefined()
  expect(refOf(tradeNoOf(long), 'y'.repeat(40))).toBeUndefined()
  for (const no of ['', '******', 'ab*', 'a b c d', 'abcdef*', "x' OR 1=1", 'ab|cdef'])
    expect(refOf(no, 'abcdef')).toBeUndefined()
})

test('refunds have numbers of their own, and that of all that is left has one whatever its key', () => {
  expect(refundNoOf('1234567', 'k1')).not.toBe(refundNoOf('1234567', 'k2'))
  expect(refundNoOf('1234567', 'k1')).not.toBe(refundNoOf('1234568', 'k1'))
  expect(refundNoOf('1234567', undefined)).not.toBe(refundNoOf('1234567', 'k1'))
  const numbers = ['a', 'a'.repeat(64)].flatMap(ref =>
    [undefined, 'b', 'b'.repeat(64)].map(key => refundNoOf(ref, key)),
  )
  expect(new Set(numbers).size).toBe(6)
  for (const no of numbers) expect(no).toMatch(/^[0-9A-Za-z_\-*]{1,64}$/)
})
