import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { SHA256_BYTES, sha256 } from './sha256.ts'

test('is the hash that node:crypto knows, for every length around a block', () => {
  const into = new Uint8Array(SHA256_BYTES)
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + length) & 255)
    sha256(bytes, into)
    expect(Buffer.from(into).toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'))
  }
})

test('writes into a part of a larger array, and touches nothing beside it', () => {
  const whole = Buffer.alloc(SHA256_BYTES + 20, 9)
  const bytes = Buffer.from('some bytes')
  sha256(bytes, whole.subarray(10, 10 + SHA256_BYTES))
  expect(whole.subarray(0, 10)).toEqual(Buffer.alloc(10, 9))
  expect(whole.subarray(10 + SHA256_BYTES)).toEqual(Buffer.alloc(10, 9))
  expect(whole.subarray(10, 10 + SHA256_BYTES)).toEqual(createHash('sha256').update(bytes).digest())
})
