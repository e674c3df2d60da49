import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { systemRandom } from '../base/random.ts'
import { createClientAddress } from './client-address.ts'
import { networkOf, v4Network, v6Home, v6Site } from './networks.ts'

const { of } = createClientAddress('')
const keyOf = (address: string) => of(address, null)

test('an IPv4 address is in its /24, also when it is written as IPv6', () => {
  expect(v4Network(keyOf('203.0.113.9'))).toBe('203.0.113')
  expect([networkOf(keyOf('203.0.113.9')), networkOf(keyOf('::ffff:203.0.113.200'))]).toEqual([
    '203.0.113.0/24',
    '203.0.113.0/24',
  ])
})

test('two IPv6 addresses are in one /56 or /48 exactly when so many bits are the same', () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  const group = fc.constantFrom(0, 1, 0xf, 0x10, 0xff, 0x100, 0x101, 0xfff, 0x1000, 0x10ff, 0xab12, 0xffff)
  const half = fc.tuple(fc.constantFrom(0x2001, 0x2002), fc.constantFrom(0xdb8, 0), group, group)
  const property = fc.property(half, half, (a, b) => {
    const [one, two] = [a, b].map(groups => keyOf(`${groups.map(part => part.toString(16)).join(':')}::1`))
    const same48 = a.slice(0, 3).join() === b.slice(0, 3).join()
    expect(v6Site(one!) === v6Site(two!)).toBe(same48)
    expect(v6Home(one!) === v6Home(two!)).toBe(same48 && a[3] >> 8 === b[3] >> 8)
    expect(networkOf(one!) === networkOf(two!)).toBe(same48)
  })
  fc.assert(property, { seed, numRuns: 2_000 })
  expect(networkOf(keyOf('2001:db8:0:ab12::7'))).toBe('2001:db8:0::/48')
})

test('the name of a peer that is no address has no network', () => {
  expect([networkOf(''), networkOf('unix'), networkOf('/run/stampede.sock')]).toEqual([undefined, undefined, undefined])
})
