import { describe, expect, test } from 'bun:test'
import { parseAddressRules } from './address-rules.ts'
import { targetRefusal } from './target.ts'

const none = parseAddressRules('off')

const REFUSED: Readonly<Record<string, string>> = {
  '0.0.0.0': 'this host',
  '10.255.0.1': 'private',
  '100.64.0.1': 'carrier-grade NAT',
  '127.0.0.1': 'loopback',
  '127.255.255.254': 'loopback',
  '169.254.169.254': 'link-local',
  '172.31.255.255': 'private',
  '192.168.0.1': 'private',
  '198.18.0.1': 'for benchmarks',
  '224.0.0.1': 'multicast',
  '255.255.255.255': 'reserved',
  '::': 'this host',
  '::1': 'loopback',
  '::ffff:127.0.0.1': 'IPv4-mapped',
  '::ffff:7f00:1': 'IPv4-mapped',
  '::ffff:8.8.8.8': 'IPv4-mapped',
  '::127.0.0.1': 'IPv4-compatible',
  '64:ff9b::127.0.0.1': 'NAT64',
  '64:ff9b:1::a00:1': 'NAT64',
  '2001::1': 'Teredo',
  '2001:db8::1': 'for documentation',
  '2002:7f00:1::': '6to4',
  'fc00::1': 'unique-local',
  'fd12:3456::1': 'unique-local',
  'fe80::1': 'link-local',
  'fe80::1%eth0': 'not an IP address',
  'ff02::1': 'multicast',
  '4000::1': 'reserved',
  'shop.example': 'not an IP address',
}
const PUBLIC = ['1.1.1.1', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '2606:4700::1111', '2a00::1']

describe('addresses', () => {
  test.each(Object.entries(REFUSED))('%s is refused: %s', (address, why) => {
    expect(none.refusal(address)).toBe(why)
  })
  test.each(PUBLIC)('%s is public', address => {
    expect(none.refusal(address)).toBeUndefined()
  })
  test('a setting allows networks, and nothing beside them', () => {
    const some = parseAddressRules('127.0.0.0/8, fd00::/8,10.1.2.3')
    for (const address of ['127.1.1.1', 'fd01::1', '10.1.2.3']) expect(some.refusal(address)).toBeUndefined()
    expect(some.refusal('10.1.2.4')).toBe('private')
    expect(some.refusal('fc01::1')).toBe('unique-local')
    expect(some.refusal('::ffff:127.0.0.1')).toBe('IPv4-mapped')
  })
  test('on allows all that are not public; what is public needs no setting', () => {
    const all = parseAddressRules('on')
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])
      expect(all.refusal(address)).toBeUndefined()
    expect(all.isAllowed('8.8.8.8')).toBe(false)
    expect(all.refusal('8.8.8.8')).toBeUndefined()
  })
  test.each(['x', '10.0.0.0/33', '10.0.0.0/8/1', '10.0.0.0/', '::1/129', 'fe80::1%a/10'])('%s is no network', text => {
    expect(() => parseAddressRules(text)).toThrow(text)
  })
})

describe('targets', () => {
  test.each([
    'shop.example',
    'ftp://shop.example',
    'https://user:secret@shop.example/',
    'https://shop.example/#part',
    'http://shop.example/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    `https://shop.example/${'x'.repeat(2000)}`,
  ])('%s is refused', url => {
    expect(targetRefusal(url, none)).toBeString()
  })
  test('an https address with a name is accepted, one without TLS only into a network that is allowed', () => {
    expect(targetRefusal('https://shop.example:8443/hook?key=1', none)).toBeUndefined()
    const home = parseAddressRules('127.0.0.0/8')
    expect(targetRefusal('http://127.0.0.1:8080/', home)).toBeUndefined()
    expect(targetRefusal('http://8.8.8.8/', home)).toContain('without TLS')
  })
})
