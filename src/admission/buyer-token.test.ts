import { describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { type JWTPayload, SignJWT } from 'jose'
import { Bug } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { createBuyerTokens } from './buyer-token.ts'

const SECRET = 'what the shop and we know, and nobody else'
const GUEST_SECRET = 'what only we know, and not even the shop'
const NOW_S = Date.UTC(2026, 10, 11) / 1000

function manualClock() {
  const clock = { ms: NOW_S * 1000, now: () => clock.ms, elapsed: () => clock.ms, sleep: () => Promise.resolve() }
  return clock satisfies Clock
}

const clock = manualClock()
const tokens = createBuyerTokens({ secret: SECRET, guestSecret: GUEST_SECRET, clock })

/** Of the tokens that do not say when they end. */
const exp = NOW_S + 3600

const sign = (payload: JWTPayload, secret = SECRET, alg = 'HS256') =>
  new SignJWT({ exp, ...payload }).setProtectedHeader({ alg }).sign(Buffer.from(secret))

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Signed by hand with HS256, whatever the header says. */
function handSigned(header: unknown, payload: unknown, secret: string | Buffer = SECRET): string {
  const claims = typeof payload === 'string' ? payload : { exp, ...(payload as object) }
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

describe('a buyer token', () => {
  test('names the buyer, also when asked again', async () => {
    const token = await sign({ sub: 'alice', exp: NOW_S + 60 })
    expect(await tokens.verify(token)).toBe('alice')
    expect(await tokens.verify(token)).toBe('alice')
    expect(await tokens.verify(await sign({ sub: '买家一号' }))).toBe('买家一号')
    expect(await tokens.verify(handSigned({ alg: 'HS256', typ: 'JWT' }, { sub: 'bob@example.com' }))).toBe(
      'bob@example.com',
    )
  })

  test('without an end is refused, unless it may be endless', async () => {
    const endless = await new SignJWT({ sub: 'alice' }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET))
    expect(await tokens.verify(endless)).toBeUndefined()
    const lenient = createBuyerTokens({ secret: SECRET, guestSecret: GUEST_SECRET, endless: true, clock })
    for (let n = 0; n < 2; n++) expect(await lenient.verify(endless)).toBe('alice')
    expect(await lenient.verify(await sign({ sub: 'alice', exp: NOW_S - 60 }))).toBeUndefined()
    const guest = new SignJWT({ sub: 'alice', iss: 'stampede:guest' }).setProtectedHeader({ alg: 'HS256' })
    expect(await lenient.verify(await guest.sign(Buffer.from(GUEST_SECRET)))).toBeUndefined()
  })

  test('without a signature is refused', async () => {
    const payload = { sub: 'alice', exp }
    for (const alg of ['none', 'None', 'NONE', '']) {
      expect(await tokens.verify(`${part({ alg })}.${part(payload)}.`)).toBeUndefined()
      expect(await tokens.verify(handSigned({ alg }, payload))).toBeUndefined()
    }
    expect(await tokens.verify(handSigned({}, payload))).toBeUndefined()
  })

  test('of another algorithm is refused, even under the right secret', async () => {
    expect(await tokens.verify(await sign({ sub: 'alice' }, SECRET, 'HS384'))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'alice' }, SECRET, 'HS512'))).toBeUndefined()
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const rs256 = await new SignJWT({ sub: 'alice', exp }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)
    expect(await tokens.verify(rs256)).toBeUndefined()
    // The classic mix-up: the public key, which everyone has, used as the secret.
    const publicText = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const alg of ['HS256', 'RS256'])
      expect(await tokens.verify(handSigned({ alg }, { sub: 'alice' }, publicText))).toBeUndefined()
    const byPublicKey = createBuyerTokens({ secret: publicText, clock })
    expect(await byPublicKey.verify(rs256)).toBeUndefined()
  })

  test('under another secret, or changed after it was signed, is refused', async () => {
    expect(await tokens.verify(await sign({ sub: 'alice' }, 'a secret that somebody guessed'))).toBeUndefined()
    const [header, , signature] = (await sign({ sub: 'alice' })).split('.')
    expect(await tokens.verify(`${header}.${part({ sub: 'mallory', exp })}.${signature}`)).toBeUndefined()
  })

  test('counts from not-before to expiry with 5 seconds of tolerance, by the given clock', async () => {
    expect(await tokens.verify(await sign({ sub: 'alice', exp: NOW_S - 4 }))).toBe('alice')
    expect(await tokens.verify(await sign({ sub: 'alice', exp: NOW_S - 5 }))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'alice', nbf: NOW_S + 5 }))).toBe('alice')
    expect(await tokens.verify(await sign({ sub: 'alice', nbf: NOW_S + 6 }))).toBeUndefined()
    for (const when of ['soon', null, {}, '1e99']) {
      expect(await tokens.verify(handSigned({ alg: 'HS256' }, { sub: 'alice', exp: when }))).toBeUndefined()
      expect(await tokens.verify(handSigned({ alg: 'HS256' }, { sub: 'alice', nbf: when }))).toBeUndefined()
    }
  })

  test('that was accepted once ends in the same second as one never seen', async () => {
    const own = manualClock()
    const remembering = createBuyerTokens({ secret: SECRET, clock: own })
    const token = await sign({ sub: 'alice', exp: NOW_S + 60 })
    expect(await remembering.verify(token)).toBe('alice')
    for (const seconds of [0, 59, 60, 64, 65, 3600]) {
      own.ms = (NOW_S + seconds) * 1000 + 999
      expect(await remembering.verify(token)).toBe(seconds < 65 ? 'alice' : undefined)
      expect(await createBuyerTokens({ secret: SECRET, clock: own }).verify(token)).toBe(
        seconds < 65 ? 'alice' : undefined,
      )
    }
  })

  test('without a buyer, or with one that no order could carry, is refused', async () => {
    expect(await tokens.verify(await sign({}))).toBeUndefined()
    for (const sub of [
      '',
      ' ',
      ' alice',
      'a\u0000b',
      'a\nb',
      'a\u007fb',
      'a\u2028b',
      'x'.repeat(129),
      7,
      null,
      ['alice'],
      { buyer: 'alice' },
      true,
    ]) {
      expect(await tokens.verify(handSigned({ alg: 'HS256' }, { sub }))).toBeUndefined()
    }
    expect(await tokens.verify(handSigned({ alg: 'HS256' }, `{"sub":"\\ud800","exp":${exp}}`))).toBeUndefined()
    expect(await tokens.verify(handSigned({ alg: 'HS256' }, { sub: 'x'.repeat(128) }))).toBe('x'.repeat(128))
  })

  test('is held to the issuer and audience that are configured', async () => {
    const strict = createBuyerTokens({ secret: SECRET, issuer: 'the-shop', audience: 'stampede', clock })
    const good = { sub: 'alice', iss: 'the-shop', aud: 'stampede' }
    expect(await strict.verify(await sign(good))).toBe('alice')
    expect(await strict.verify(await sign({ ...good, aud: ['mail', 'stampede'] }))).toBe('alice')
    for (const wrong of [{ iss: 'another-shop' }, { iss: '' }, { aud: 'mail' }, { aud: ['mail'] }, { aud: [] }]) {
      expect(await strict.verify(await sign({ ...good, ...wrong }))).toBeUndefined()
    }
    expect(await strict.verify(await sign({ sub: 'alice', aud: 'stampede' }))).toBeUndefined()
    expect(await strict.verify(await sign({ sub: 'alice', iss: 'the-shop' }))).toBeUndefined()
  })

  test('longer than a cookie can hold is refused', async () => {
    expect(await tokens.verify(await sign({ sub: 'alice', pad: 'x'.repeat(2000) }))).toBe('alice')
    expect(await tokens.verify(await sign({ sub: 'alice', pad: 'x'.repeat(4000) }))).toBeUndefined()
  })
})

describe('garbage', () => {
  test('is refused and never throws, unsigned or signed', async () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    const json = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom('null', '[]', '"x"', '1', '{', '{"alg":"HS256"}', '{"alg":"HS256","crit":["b64"],"b64":false}'),
    )
    const header = fc.oneof(
      json,
      fc.constant('{"alg":"HS256"}'),
      fc.constant('{"alg":"HS256","crit":["x"],"x":1}'),
      fc.constant('{"alg":"HS256","zip":"DEF"}'),
    )
    const token = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[\w-]{0,20}\.[\w-]{0,20}\.[\w-]{0,20}$/),
      fc.tuple(header, json).map(([h, p]) => handSigned(h, p)),
      fc.tuple(json, json, json).map(parts => parts.map(part).join('.')),
    )
    await fc.assert(
      fc.asyncProperty(token, async given => {
        expect(await tokens.verify(given)).toBeUndefined()
      }),
      { seed, numRuns: 2000 },
    )
    for (const given of [
      '',
      '.',
      '..',
      '...',
      'a.b.c',
      'a.b.c.d.e',
      `${await sign({ sub: 'alice' })}.`,
      ` ${await sign({ sub: 'alice' })}`,
      `${await sign({ sub: 'alice' })}=`,
      `${await sign({ sub: 'alice' })} `,
    ]) {
      expect(await tokens.verify(given)).toBeUndefined()
    }
  })
})

describe('what is remembered', () => {
  test('is bounded, and the tokens in use stay', async () => {
    // Counting the signatures that are really checked is the only way to see from outside what is remembered.
    const own = manualClock()
    const remembering = createBuyerTokens({ secret: SECRET, clock: own })
    const used = handSigned({ alg: 'HS256' }, { sub: 'in-use' })
    const unused = handSigned({ alg: 'HS256' }, { sub: 'unused' })
    let verifications = 0
    const original = crypto.subtle.verify
    crypto.subtle.verify = function (this: SubtleCrypto, ...args: Parameters<typeof original>) {
      verifications += 1
      return original.apply(this, args)
    }
    try {
      await remembering.verify(unused)
      for (let n = 0; n < 10_000; n++) {
        if (n % 1000 === 0) await remembering.verify(used)
        await remembering.verify(handSigned({ alg: 'HS256' }, { sub: `buyer-${n}` }))
      }
      expect(verifications).toBe(10_002)
      await remembering.verify(used)
      expect(verifications).toBe(10_002)
      await remembering.verify(unused)
      expect(verifications).toBe(10_003)
    } finally {
      crypto.subtle.verify = original
    }
  })
})

describe('a guest', () => {
  test('is a buyer until the token ends', async () => {
    const own = manualClock()
    const guests = createBuyerTokens({ guestSecret: GUEST_SECRET, clock: own })
    const { token = '', buyer } = (await guests.issueGuest!('guest-1', 60_000)) ?? {}
    expect(buyer).toBe('guest-1')
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(await guests.verify(token)).toBe('guest-1')
    own.ms += 65_000
    expect(await guests.verify(token)).toBeUndefined()
    await expect(guests.issueGuest!('', 60_000)).rejects.toThrow(Bug)
  })

  test('lives beside the shop’s buyers, and neither can pass for the other', async () => {
    const { token = '', buyer = '' } = (await tokens.issueGuest!('alice', 60_000)) ?? {}
    expect(buyer).toBe('stampede-guest-alice')
    expect(await tokens.verify(token)).toBe(buyer)
    expect(await tokens.verify(await sign({ sub: buyer }))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'stampede-guest-' }))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'stampede-guest' }))).toBe('stampede-guest')
    expect((await tokens.issueGuest!(buyer, 60_000))?.buyer).toBe(buyer)
    expect((await tokens.issueGuest!('x'.repeat(113), 60_000))?.buyer).toHaveLength(128)
    expect(await tokens.issueGuest!('x'.repeat(114), 60_000)).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'alice', iss: 'stampede:guest' }))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'alice' }, GUEST_SECRET))).toBeUndefined()
    expect(await tokens.verify(await sign({ sub: 'alice', iss: 'the-shop' }, GUEST_SECRET))).toBeUndefined()
  })

  test('is not let in where there are no guests', async () => {
    const shopOnly = createBuyerTokens({ secret: SECRET, clock })
    expect(shopOnly.issueGuest).toBeUndefined()
    expect(await shopOnly.verify((await tokens.issueGuest!('guest-1', 60_000))?.token ?? '')).toBeUndefined()
    expect(await shopOnly.verify(await sign({ sub: 'guest-1', iss: 'stampede:guest' }))).toBeUndefined()
    expect(await createBuyerTokens({ clock }).verify(await sign({ sub: 'alice' }))).toBeUndefined()
  })

  test('is never signed with nothing', () => {
    expect(() => createBuyerTokens({ guestSecret: '', clock })).toThrow('empty')
    expect(() => createBuyerTokens({ secret: '', clock })).toThrow('empty')
  })
})
