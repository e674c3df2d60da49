import { expect, test } from 'bun:test'
import { BUYER_LENGTH_MAX, isBuyerId } from './ids.ts'

test('a buyer id has no control character, no lone surrogate and no blank around it', () => {
  for (let code = 0; code < 0x300; code++) {
    const one = String.fromCharCode(code)
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f)
    expect([code, isBuyerId(`a${one}b`)]).toEqual([code, !isControl])
    expect([code, isBuyerId(`${one}b`)]).toEqual([code, !isControl && one.trim() === one])
    expect([code, isBuyerId(`a${one}`)]).toEqual([code, !isControl && one.trim() === one])
  }
  for (const no of ['', ' ', 'a\u2028b', 'a\u2029', 'a\ud800b', '\udc00', '\u3000a'])
    expect([no, isBuyerId(no)]).toEqual([no, false])
  for (const yes of ['~', '!', 'a b', '买家一号', '👩‍👩‍👧', 'x@y.z']) expect([yes, isBuyerId(yes)]).toEqual([yes, true])
})

test('a buyer id is as long as an index takes', () => {
  expect(isBuyerId('a'.repeat(BUYER_LENGTH_MAX))).toBe(true)
  expect(isBuyerId('a'.repeat(BUYER_LENGTH_MAX + 1))).toBe(false)
  expect(isBuyerId('ü'.repeat(BUYER_LENGTH_MAX + 1))).toBe(false)
})
