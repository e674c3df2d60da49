import { describe, expect, test } from 'bun:test'
import { checkReturnUrl } from './return-url.ts'

describe('a buyer is sent', () => {
  test('to web addresses and to paths of this site', () => {
    expect(checkReturnUrl('https://shop.example/orders/1?a=b#c')).toBe('https://shop.example/orders/1?a=b#c')
    expect(checkReturnUrl('HTTP://Shop.Example')).toBe('http://shop.example/')
    expect(checkReturnUrl('/orders/1?a=b#c')).toBe('/orders/1?a=b#c')
    expect(checkReturnUrl('/a/../b/购')).toBe('/b/%E8%B4%AD')
  })

  for (const nowhere of [
    '',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    '//elsewhere.example',
    '/\\elsewhere.example',
    '\\\\elsewhere.example',
    '/\t/elsewhere.example',
    '/.//elsewhere.example',
    '/a/..//elsewhere.example',
    'orders/1',
    'https://',
    'https://user:password@shop.example/',
    'https://shop.example/\r\nset-cookie: a=b',
    `/${'a'.repeat(2048)}`,
  ]) {
    test(`nowhere by ${JSON.stringify(nowhere).slice(0, 60)}`, () => {
      expect(checkReturnUrl(nowhere)).toBeUndefined()
    })
  }
})
