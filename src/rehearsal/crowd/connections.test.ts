import { expect, test } from 'bun:test'
import { targetOf } from './connections.ts'

test('where requests go', () => {
  expect(targetOf('http://localhost:8080').target).toEqual({ host: '127.0.0.1', port: 8080, secure: false })
  expect(targetOf('https://shop.example/x').target).toEqual({ host: 'shop.example', port: 443, secure: true })
  expect(targetOf('http://[::1]:8080').target).toEqual({ host: '::1', port: 8080, secure: false })
})

test('only another machine is called one; the IPv6 loopback is this one, with a single address', () => {
  expect(targetOf('http://127.0.0.1').note).toBeUndefined()
  expect(targetOf('http://192.0.2.1').note).toContain('on another machine')
  for (const url of ['http://[::1]:8080', 'http://[::ffff:127.0.0.1]:8080']) {
    expect(targetOf(url).note).toContain('All buyers came from one address')
    expect(targetOf(url).note).not.toContain('another machine')
  }
})
