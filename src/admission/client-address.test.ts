import { describe, expect, test } from 'bun:test'
import { isIP } from 'node:net'
import fc from 'fast-check'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { createClientAddress } from './client-address.ts'

const newSeed = () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  return seed
}

const PROXY = '10.0.0.1'
/** What a trusted proxy's header makes of it. */
const through = (forwardedFor: string, trusted = '10.0.0.0/8, fd00::/8') =>
  createClientAddress(trusted).of(PROXY, forwardedFor)

describe('without trusted proxies', () => {
  const direct = createClientAddress('')

  test('the connection is the client, whatever the header claims', () => {
    expect(direct.of('198.51.100.7', '1.2.3.4')).toBe('198.51.100.7')
    expect(direct.of('2001:db8:1:2:3:4:5:6', '1.2.3.4')).toBe('2001:db8:1:2::/64')
  })

  test('an IPv4 address is one key in both families', () => {
    for (const peer of ['198.51.100.7', '::ffff:198.51.100.7', '::FFFF:c633:6407', '0:0:0:0:0:ffff:198.51.100.7'])
      expect(direct.of(peer, null)).toBe('198.51.100.7')
  })

  test('all of an IPv6 /64 is one key, in any spelling, and the next /64 another', () => {
    for (const peer of [
      '2001:db8::1',
      '2001:DB8:0:0::ffff',
      '2001:0db8:0000:0000:1:2:3:4',
      '2001:db8::1.2.3.4',
      '2001:db8::%eth0',
    ])
      expect(direct.of(peer, null)).toBe('2001:db8:0:0::/64')
    expect(direct.of('2001:db8:0:1::1', null)).toBe('2001:db8:0:1::/64')
    for (const peer of ['::1', '::ffff:0:1.2.3.4']) expect(direct.of(peer, null)).toBe('0:0:0:0::/64')
  })

  test('a peer without an address still has a key', () => {
    expect(direct.of('', null)).toBe('')
    expect(direct.of('unix:socket', '1.2.3.4')).toBe('unix:socket')
  })

  test('IPv6 peers are keyed right, also when there were more of them than are remembered', () => {
    const keys = new Set<string>()
    for (let n = 0; n < 100_000; n++)
      keys.add(direct.of(`2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::1`, null))
    expect(keys.size).toBe(100_000)
    expect(direct.of('2001:db8:0:7::99', null)).toBe('2001:db8:0:7::/64')
  })
})

describe('with trusted proxies', () => {
  test('a peer that is none of them is the client, whatever the header claims', () => {
    const { of } = createClientAddress('10.0.0.0/8')
    for (const peer of ['11.0.0.1', '9.255.255.255', '::ffff:11.0.0.1'])
      expect(of(peer, '1.2.3.4')).toBe(peer.replace('::ffff:', ''))
    expect(of('a00:1::', '1.2.3.4')).toBe('a00:1:0:0::/64')
  })

  test('the first untrusted address from the right is the client, and what it invented further left is not', () => {
    expect(through('1.2.3.4')).toBe('1.2.3.4')
    expect(through('6.6.6.6, 1.2.3.4')).toBe('1.2.3.4')
    expect(through('6.6.6.6, 10.9.9.9, 1.2.3.4, 10.2.2.2,fd00::5')).toBe('1.2.3.4')
    expect(through('6.6.6.6,2001:db8::1')).toBe('2001:db8:0:0::/64')
    expect(through('::ffff:1.2.3.4')).toBe('1.2.3.4')
  })

  test('a proxy that itself asks is the client', () => {
    expect(createClientAddress('10.0.0.0/8').of(PROXY, null)).toBe(PROXY)
    expect(through('')).toBe(PROXY)
    expect(through('10.2.2.2')).toBe('10.2.2.2')
    expect(through('10.3.3.3, 10.2.2.2')).toBe('10.3.3.3')
  })

  test('a word that is no address ends the reading, and the last good address stands', () => {
    const bad = [
      'unknown',
      '_hidden',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '01.2.3.4',
      '1.2.3.4:',
      '1.2.3.4:99999999',
      '1.2.3.4 5',
      '[::1',
      '::1]',
      '[1::2::3]',
      '[]',
    ]
    for (const word of [
      ...bad,
      '1:2:3',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      ':::',
      '1.2.3.4/8',
      '::1.2.3',
      '1.2.3.4::',
      'f'.repeat(10_000),
    ]) {
      expect(through(`6.6.6.6, ${word}`)).toBe(PROXY)
      expect(through(`6.6.6.6, ${word}, 10.2.2.2`)).toBe('10.2.2.2')
      expect(through(`${word}, 1.2.3.4`)).toBe('1.2.3.4')
    }
  })

  test('ports and brackets are not part of the address, and empty elements mean nothing', () => {
    for (const entry of ['1.2.3.4:567', ' 1.2.3.4 ', '1.2.3.4,', ',1.2.3.4 , ,', '[::ffff:1.2.3.4]:80'])
      expect(through(entry)).toBe('1.2.3.4')
    for (const entry of ['[2001:db8::1]:567', '[2001:db8::1]', '2001:db8::1'])
      expect(through(entry)).toBe('2001:db8:0:0::/64')
  })

  test('ranges end at their last bit, in both families', () => {
    const { of } = createClientAddress('192.168.4.0/22,203.0.113.9, 2001:db8:80::/41, ::ffff:172.16.0.0/108')
    const isTrusted = (peer: string) => of(peer, '1.2.3.4') === '1.2.3.4'
    const inside = [
      '192.168.4.0',
      '192.168.7.255',
      '203.0.113.9',
      '2001:db8:80::',
      '2001:db8:ff:ffff::1',
      '172.31.255.255',
      '::ffff:192.168.5.5',
    ]
    const outside = [
      '192.168.3.255',
      '192.168.8.0',
      '203.0.113.8',
      '2001:db8:7f:ffff::',
      '2001:db8:100::',
      '172.32.0.0',
      '2001:db9:80::',
    ]
    expect(inside.filter(peer => !isTrusted(peer))).toEqual([])
    expect(outside.filter(isTrusted)).toEqual([])
    const everybodyV6 = createClientAddress('::/0')
    expect([everybodyV6.of('2001:db8::1', '1.2.3.4'), everybodyV6.of('5.6.7.8', '1.2.3.4')]).toEqual([
      '1.2.3.4',
      '5.6.7.8',
    ])
    expect(createClientAddress('0.0.0.0/0').of('5.6.7.8', '1.2.3.4, 7.7.7.7')).toBe('1.2.3.4')
  })

  test('a setting that is no address or range is named', () => {
    for (const entry of [
      'proxy.local',
      '10.0.0',
      '10.0.0.0/',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '::/129',
      '::g',
      '::ffff:0:0/95',
      '[::1]',
      '10.0.0.1:80',
    ])
      expect(() => createClientAddress(`10.0.0.1, ${entry}`)).toThrow(`"${entry}"`)
  })

  test('a header of nothing but proxies is read only so far', () => {
    expect(through(`6.6.6.6,${'10.2.2.2,'.repeat(2000)}10.3.3.3`)).toBe('10.2.2.2')
  })
})

describe('whatever is sent', () => {
  test('an entry counts exactly when it is an address', () => {
    const seed = newSeed()
    const { of } = createClientAddress(PROXY)
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map(v4 => `::ffff:${v4}`),
      fc.string({ unit: fc.constantFrom(...'0123456789abcfF:.'), maxLength: 24 }),
      fc
        .tuple(fc.ipV6(), fc.nat(40), fc.constantFrom(':', '.', 'g', '0', '', '::'))
        .map(([v6, at, cut]) => v6.slice(0, at) + cut + v6.slice(at + 1)),
      fc
        .tuple(fc.ipV4(), fc.nat(16), fc.constantFrom('.', '9', '0', ''))
        .map(([v4, at, cut]) => v4.slice(0, at) + cut + v4.slice(at + 1)),
    )
    const property = fc.property(text, entry => {
      const key = of(PROXY, entry)
      // A port would be right here, and no address by itself.
      if (/^[0-9.]+:[0-9]{1,5}$/.test(entry)) return
      if (isIP(entry) === 0) expect(key).toBe(PROXY)
      else if (isIP(entry) === 4) expect(key).toBe(entry)
      else expect(isIP(key.replace('/64', ''))).toBe(key.includes('/') ? 6 : 4)
    })
    fc.assert(property, { seed, numRuns: 5000 })
  })

  test('an IPv6 address is keyed the same in every spelling, as a peer and in the header', () => {
    const seed = newSeed()
    const { of } = createClientAddress(PROXY)
    const group = fc.oneof(fc.constantFrom(0, 0, 1, 0xffff), fc.nat(0xffff))
    const property = fc.property(
      fc.array(group, { minLength: 8, maxLength: 8 }),
      fc.nat(6),
      fc.nat(7),
      (groups, from, to) => {
        const hex = groups.map(value => value.toString(16))
        const v4 = `${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.${groups[7]! & 255}`
        const spellings = [
          hex.join(':'),
          hex.map(word => word.padStart(4, '0').toUpperCase()).join(':'),
          [...hex.slice(0, 6), v4].join(':'),
          `${hex.join(':')}%eth0`,
        ]
        if (from < to && groups.slice(from, to).every(value => value === 0))
          spellings.push(`${hex.slice(0, from).join(':')}::${hex.slice(to).join(':')}`)
        const isMapped = groups.slice(0, 5).every(value => value === 0) && groups[5] === 0xffff
        const key = isMapped ? v4 : `${hex.slice(0, 4).join(':')}::/64`
        for (const spelling of spellings) {
          expect([spelling, of(spelling, null)]).toEqual([spelling, key])
          expect([spelling, of(PROXY, `[${spelling}]:80`)]).toEqual([spelling, key])
        }
      },
    )
    fc.assert(property, { seed, numRuns: 2000 })
  })

  test('no header throws or makes a long key, and none moves an untrusted peer', () => {
    const seed = newSeed()
    const { of } = createClientAddress('10.0.0.0/8')
    const header = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'0129af:.,[]% '), maxLength: 80, size: 'max' }),
    )
    const property = fc.property(header, forwardedFor => {
      expect(of(PROXY, forwardedFor).length).toBeLessThan(40)
      expect(of('198.51.100.7', forwardedFor)).toBe('198.51.100.7')
      // What the client itself wrote, our proxy having added its address.
      expect(of(PROXY, `${forwardedFor}, 198.51.100.7`)).toBe('198.51.100.7')
    })
    fc.assert(property, { seed, numRuns: 3000 })
  })
})

test('the price of an address (printed, not judged)', () => {
  const direct = createClientAddress('')
  const proxied = createClientAddress('10.0.0.0/8')
  const price = (act: (n: number) => unknown) => {
    const from = systemClock.elapsed()
    for (let n = 0; n < 200_000; n++) act(n)
    return Math.round((systemClock.elapsed() - from) * 5)
  }
  console.log(`direct IPv4: ${price(() => direct.of('198.51.100.7', null))} ns`)
  console.log(`direct IPv6: ${price(() => direct.of('2001:db8::1', null))} ns`)
  console.log(`IPv4 through a proxy: ${price(n => proxied.of(PROXY, `198.51.100.${n & 255}`))} ns`)
  expect(proxied.of(PROXY, '198.51.100.7')).toBe('198.51.100.7')
})
