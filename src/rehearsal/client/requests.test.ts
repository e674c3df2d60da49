import { expect, test } from 'bun:test'
import { createRequests } from './requests.ts'

const hostOf = (host: string) =>
  /^host: (.*)$/m.exec(String(createRequests({ host, port: 8080 }, '', { sale: '1', item: '2' }).time()))?.[1]?.trim()

test('the server is named as a browser would: an IPv6 address in brackets', () => {
  expect([hostOf('127.0.0.1'), hostOf('shop.example')]).toEqual(['127.0.0.1:8080', 'shop.example:8080'])
  expect(hostOf('::1')).toBe('[::1]:8080')
})
