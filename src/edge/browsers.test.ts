import { describe, expect, test } from 'bun:test'
import { createBrowsers } from './browsers.ts'

const SHOP = 'https://shop.example'
const browsers = createBrowsers([SHOP], 'https://sale.example')
const noOrigins = createBrowsers([], undefined)

const asked = (headers: Record<string, string>, method = 'GET') =>
  new Request('http://127.0.0.1/api/orders', { method, headers })
const headersOf = (request: Request, from = browsers) => from.applyHeaders(request, new Response('{}')).headers

describe('a page of another site', () => {
  test('that is listed may read answers, with the cookie, and the headers it needs', () => {
    const headers = headersOf(asked({ origin: SHOP }))
    expect(headers.get('access-control-allow-origin')).toBe(SHOP)
    expect(headers.get('access-control-allow-credentials')).toBe('true')
    expect(headers.get('access-control-expose-headers')).toMatch(
      /ETag, Location, Retry-After, RateLimit, RateLimit-Policy/,
    )
    expect(headers.get('vary')).toBe('origin')
  })

  test('that is listed may ask first', () => {
    const headers = headersOf(asked({ origin: SHOP, 'access-control-request-method': 'POST' }, 'OPTIONS'))
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PATCH, DELETE')
    expect(headers.get('access-control-allow-headers')).toMatch(/Authorization.*Idempotency-Key.*If-None-Match/)
  })

  test('that is not listed, or only looks like one that is, hears nothing; and there is no wildcard', () => {
    for (const origin of [
      'https://evil.example',
      'http://shop.example',
      'https://shop.example:8443',
      'https://shop.example.evil.example',
      'https://SHOP.example',
      'https://shop.example/',
      'null',
      '*',
      '',
    ]) {
      const headers = headersOf(asked({ origin }))
      expect([origin, headers.get('access-control-allow-origin')]).toEqual([origin, null])
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toBe('origin')
    }
    expect(headersOf(asked({ origin: SHOP }), noOrigins).get('access-control-allow-origin')).toBeNull()
  })

  test('can not use the cookie; listed ones, our own, and programs can', () => {
    const trusts = (headers: Record<string, string>, from = browsers) => from.trusts(asked(headers))
    expect(trusts({})).toBe(true)
    expect(trusts({ origin: SHOP })).toBe(true)
    expect(trusts({ origin: 'https://sale.example' })).toBe(true)
    expect(trusts({ origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080' }, noOrigins)).toBe(true)
    expect(trusts({ origin: 'https://evil.example', host: 'sale.example' })).toBe(false)
    expect(trusts({ origin: 'https://evil.sale.example', host: 'sale.example' })).toBe(false)
    expect(trusts({ origin: 'null', host: 'null' })).toBe(false)
    expect(trusts({ 'sec-fetch-site': 'cross-site' })).toBe(false)
    expect(trusts({ 'sec-fetch-site': 'same-origin' })).toBe(true)
  })
})

test('browsers are told to stay on https only where the public address is https', () => {
  expect(headersOf(asked({})).get('strict-transport-security')).toMatch(/^max-age=/)
  expect(headersOf(asked({}), noOrigins).get('strict-transport-security')).toBeNull()
})
