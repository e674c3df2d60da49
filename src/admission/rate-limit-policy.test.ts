import { describe, expect, test } from 'bun:test'
import { parseRate, rateLimited, rateLimitHeaders } from './rate-limit-policy.ts'

describe('a rate in the configuration', () => {
  test('is a count and a window, or off', () => {
    expect(parseRate('100/1s')).toEqual({ count: 100, windowMs: 1000 })
    expect(parseRate('5/250ms')).toEqual({ count: 5, windowMs: 250 })
    expect(parseRate('1000/1m')).toEqual({ count: 1000, windowMs: 60_000 })
    expect(parseRate('1/24h')).toEqual({ count: 1, windowMs: 86_400_000 })
    expect(parseRate('100/1s burst 20')).toEqual({ count: 100, windowMs: 1000, burst: 20 })
    expect(parseRate('off')).toBeUndefined()
  })

  test('that is anything else is named in the error', () => {
    const shapeless = ['', ' ', '100', '100/', '/1s', '100/s', '100/1', '100/1d', '-1/1s', '1.5/1s', '1e3/1s', '1/1.5s']
    for (const text of [...shapeless, '100/1s ', 'OFF', 'on', '100 / 1s', '100/1s,5/1s', '１/1s', '9'.repeat(400)])
      expect(() => parseRate(text)).toThrow(`"${text}" is not a rate: write count/window like 100/1s`)
    expect(() => parseRate('0/1s')).toThrow('"0/1s": the count must lie between 1 and')
    expect(() => parseRate('1000000001/1s')).toThrow('the count must lie between 1 and')
    for (const text of ['1/0s', '1/25h', '1/999999999999999h'])
      expect(() => parseRate(text)).toThrow('the window must lie between 1ms and 24h')
    for (const text of ['5/1s burst 0', '5/1s burst 6'])
      expect(() => parseRate(text)).toThrow(`"${text}": the burst must lie between 1 and the count`)
    for (const text of ['5/1s burst', '5/1s  burst 2', '5/1s burst -1', '5/1s burst 1.5', 'off burst 2'])
      expect(() => parseRate(text)).toThrow(`"${text}" is not a rate`)
  })
})

describe('a refusal', () => {
  test('is told in the fields of the draft and in whole seconds, at least one', () => {
    const rate = { count: 100, windowMs: 1000 }
    const headersFor = (waitMs: number) => rateLimitHeaders(rateLimited('per-address', rate, waitMs))
    expect(headersFor(0.25)).toEqual({
      'retry-after': '1',
      ratelimit: '"per-address";r=0;t=1',
      'ratelimit-policy': '"per-address";q=100;w=1',
    })
    expect(headersFor(0)['retry-after']).toBe('1')
    expect(headersFor(1000)['retry-after']).toBe('1')
    expect(headersFor(1000.001)['retry-after']).toBe('2')
  })

  test('never claims a shorter window than the real one', () => {
    expect(rateLimited('total', { count: 5, windowMs: 250 }, 1).windowS).toBe(1)
    expect(rateLimited('total', { count: 5, windowMs: 1500 }, 1).windowS).toBe(2)
  })
})
