import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, SignJWT } from 'jose'
import { until } from '../../test/harness/until.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { createBuyerTokens } from './buyer-token.ts'
import { createRemoteKeys } from './remote-keys.ts'

const NOW_S = Date.UTC(2026, 10, 11) / 1000
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

interface Pair {
  readonly alg: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}
const rsa: Pair = { alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
const rsa2: Pair = { alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
const weak: Pair = { alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 1024 }) }
const ec: Pair = { alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
const ec384: Pair = { alg: 'ES384', ...generateKeyPairSync('ec', { namedCurve: 'P-384' }) }
const ed: Pair = { alg: 'EdDSA', ...generateKeyPairSync('ed25519') }

const jwk = (pair: Pair, kid: string, more: object = {}) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  kid,
  ...more,
})
const sign = ({ alg, privateKey }: Pair, kid: string | undefined, payload: JWTPayload = { sub: 'alice' }) =>
  new SignJWT({ exp: NOW_S + 3600, ...payload })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
    .sign(privateKey)

/** The shop's key server, over real HTTP. What it says can be changed at any time. */
let shop: Server
let url = ''
let served: { status: number; body: string; delay?: true; location?: string } = { status: 200, body: '' }
let fetches = 0
const serve = (...keys: unknown[]) => {
  served = { status: 200, body: JSON.stringify({ keys }) }
}

beforeEach(async () => {
  fetches = 0
  shop = createServer((_request, response) => {
    fetches += 1
    if (served.delay) return
    response.writeHead(served.status, served.location === undefined ? {} : { location: served.location })
    response.end(served.body)
  })
  await new Promise<void>(done => shop.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/keys`
})
afterEach(() => {
  shop.closeAllConnections()
  shop.close()
})

function door(options: { secret?: string; issuer?: string; audience?: string } = {}) {
  /** Sleeping ends when time is moved on past it, so that time limits can be tried without waiting. */
  const sleepers: { untilMs: number; wake: () => void }[] = []
  const clock: Clock & { ms: number; pass(ms: number): void } = {
    ms: NOW_S * 1000,
    now: () => clock.ms,
    elapsed: () => clock.ms,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>(wake => {
        sleepers.push({ untilMs: clock.ms + ms, wake })
        signal?.addEventListener('abort', () => wake())
      }),
    pass(ms: number) {
      clock.ms += ms
      for (const { untilMs, wake } of sleepers) if (untilMs <= clock.ms) wake()
    },
  }
  const failures: string[] = []
  const keys = createRemoteKeys({ url, clock, onFailed: why => failures.push(why) })
  return { clock, failures, ...createBuyerTokens({ clock, keys, ...options }) }
}

const busy = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof Fault && error.retryable
}

describe('a token signed with a published key', () => {
  test('is taken for each of the three kinds of key, by key id or when only one key can be meant', async () => {
    serve(jwk(rsa, 'r'), jwk(ec, 'e'), jwk(ed, 'd'))
    const { verify } = door()
    for (const [pair, kid] of [
      [rsa, 'r'],
      [ec, 'e'],
      [ed, 'd'],
    ] as const) {
      expect(await verify(await sign(pair, kid))).toBe('alice')
      expect(await verify(await sign(pair, undefined, { sub: 'bob' }))).toBe('bob')
    }
    expect(fetches).toBe(1)
  })

  test('is refused under another key, another id, another kind, or when two keys could be meant', async () => {
    serve(jwk(rsa, 'r'), jwk(rsa2, 'r2'), jwk(ec, 'e'))
    const { verify } = door()
    expect(await verify(await sign(rsa2, 'r'))).toBeUndefined()
    expect(await verify(await sign(rsa, 'e'))).toBeUndefined()
    expect(await verify(await sign(rsa, undefined))).toBeUndefined()
    expect(await verify(await sign(ec, 'e'))).toBe('alice')
  })

  test('is held to issuer and audience, expiry and not-before', async () => {
    serve(jwk(rsa, 'r'))
    const { verify } = door({ issuer: 'shop', audience: 'stampede' })
    const good = { sub: 'alice', iss: 'shop', aud: 'stampede', exp: NOW_S + 60 }
    expect(await verify(await sign(rsa, 'r', good))).toBe('alice')
    for (const change of [{ iss: 'x' }, { aud: 'x' }, { exp: NOW_S - 60 }, { nbf: NOW_S + 60 }, { sub: '' }])
      expect(await verify(await sign(rsa, 'r', { ...good, ...change }))).toBeUndefined()
    expect(await verify(await sign(rsa, 'r', { sub: 'alice', aud: 'stampede' }))).toBeUndefined()
  })
})

describe('key confusion', () => {
  const hs256 = (secret: string | Buffer, header: object = {}) => {
    const signed = `${part({ alg: 'HS256', ...header })}.${part({ sub: 'mallory', exp: NOW_S + 3600 })}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }

  test('gets nowhere: a public key is no secret, with and without a real one configured', async () => {
    serve(jwk(rsa, 'r'))
    for (const { verify } of [door(), door({ secret: 'what the shop and we know, nobody else' })]) {
      for (const secret of [
        rsa.publicKey.export({ type: 'spki', format: 'pem' }),
        rsa.publicKey.export({ type: 'spki', format: 'der' }),
        JSON.stringify(jwk(rsa, 'r')),
        String(jwk(rsa, 'r').n),
        '',
      ])
        expect(await verify(hs256(secret, { kid: 'r' }))).toBeUndefined()
      expect(
        await verify(`${part({ alg: 'none', kid: 'r' })}.${part({ sub: 'mallory', exp: NOW_S + 3600 })}.`),
      ).toBeUndefined()
      expect(await verify(await sign(rsa, 'r'))).toBe('alice')
    }
  })

  test('gets nowhere: secrets, private, weak and unfit keys in the set are passed over', async () => {
    const oct = { kty: 'oct', k: part('known to everybody'), kid: 'o', alg: 'HS256' }
    serve(
      oct,
      { ...oct, alg: undefined },
      jwk(rsa2, 'hs', { alg: 'HS256' }),
      jwk(rsa2, 'ps', { alg: 'PS256' }),
      jwk(rsa2, 'enc', { use: 'enc' }),
      { ...rsa2.privateKey.export({ format: 'jwk' }), kid: 'private' },
      jwk(weak, 'weak'),
      jwk(ec384, 'ec384'),
      { kty: 'RSA', kid: 'broken', n: '!!', e: 'AQAB' },
      { kty: 'EC', crv: 'P-256', kid: 'off', x: 'AA', y: 'AA' },
      null,
      'x',
      7,
      jwk(rsa, 'r'),
    )
    const { verify } = door()
    expect(await verify(hs256(Buffer.from(oct.k, 'base64url'), { kid: 'o' }))).toBeUndefined()
    for (const kid of ['hs', 'ps', 'enc', 'private']) expect(await verify(await sign(rsa2, kid))).toBeUndefined()
    expect(await verify(await sign(ec384, 'ec384'))).toBeUndefined()
    const weakly = `${part({ alg: 'RS256', kid: 'weak' })}.${part({ sub: 'mallory', exp: NOW_S + 3600 })}.${part('x')}`
    expect(await verify(weakly)).toBeUndefined()
    expect(await verify(await sign(rsa, 'r'))).toBe('alice')
  })

  test('both ways side by side: the secret counts for HS256 only, the keys for the rest', async () => {
    serve(jwk(rsa, 'r'))
    const secret = 'what the shop and we know, nobody else'
    const { verify } = door({ secret })
    expect(await verify(hs256(secret))).toBe('mallory')
    expect(fetches).toBe(0)
    expect(await verify(await sign(rsa, 'r'))).toBe('alice')
  })
})

describe('rotation', () => {
  test('a new key is found on first use; unknown ids cost one fetch per cool-down, however many there are', async () => {
    serve(jwk(rsa, 'old'))
    const { verify, clock } = door()
    expect(await verify(await sign(rsa, 'old'))).toBe('alice')
    serve(jwk(rsa, 'old'), jwk(rsa2, 'new'))
    clock.pass(30_000)
    expect(await verify(await sign(rsa2, 'new'))).toBe('alice')
    expect(fetches).toBe(2)
    for (let i = 0; i < 50; i++) expect(await verify(await sign(ed, `made-up-${i}`))).toBeUndefined()
    expect(fetches).toBe(2)
    clock.pass(29_999)
    expect(await verify(await sign(ed, 'made-up'))).toBeUndefined()
    expect(fetches).toBe(2)
    clock.pass(1)
    await Promise.all(Array.from({ length: 20 }, async (_, i) => verify(await sign(ed, `again-${i}`))))
    expect(fetches).toBe(3)
  })

  test('a key that is taken out ends what was signed with it, remembered or not', async () => {
    serve(jwk(rsa, 'old'), jwk(rsa2, 'new'))
    const { verify, clock } = door()
    const [old, fresh] = [await sign(rsa, 'old'), await sign(rsa2, 'new')]
    expect([await verify(old), await verify(fresh)]).toEqual(['alice', 'alice'])
    serve(jwk(rsa2, 'new'))
    clock.pass(10 * 60_000)
    // Aged keys still count: nobody waits for the fetch.
    expect(await verify(old)).toBe('alice')
    await until('the fetch in the background', () => fetches === 2)
    await until('the key that was taken out to count no more', async () => (await verify(old)) === undefined)
    expect([await verify(old), await verify(fresh)]).toEqual([undefined, 'alice'])
  })
})

describe('a key server that', () => {
  test('is down: known keys go on, unknown ones are "busy", and it is asked again a second later', async () => {
    serve(jwk(rsa, 'r'))
    const { verify, clock, failures } = door()
    expect(await verify(await sign(rsa, 'r'))).toBe('alice')
    served = { status: 503, body: 'away' }
    clock.pass(11 * 60_000)
    expect(await verify(await sign(rsa, 'r', { sub: 'bob' }))).toBe('bob')
    await until('the failed fetch', () => failures.length === 1)
    expect(await busy(verify(await sign(rsa2, 'new')))).toBe(true)
    expect(fetches).toBe(2)
    expect(await verify(await sign(rsa, 'r', { sub: 'carol' }))).toBe('carol')
    serve(jwk(rsa2, 'new'))
    clock.pass(1_000)
    expect(await verify(await sign(rsa2, 'new'))).toBe('alice')
  })

  test('was never reached: "busy", not "who are you?"', async () => {
    served = { status: 500, body: '' }
    const { verify, clock } = door()
    const token = await sign(rsa, 'r')
    expect(await busy(verify(token))).toBe(true)
    expect(await busy(verify(token))).toBe(true)
    expect(fetches).toBe(1)
    serve(jwk(rsa, 'r'))
    clock.pass(1_000)
    expect(await verify(token)).toBe('alice')
  })

  test('says too much, nothing of use, or sends us elsewhere is not believed', async () => {
    const { verify, clock, failures } = door()
    const many = Array.from({ length: 101 }, (_, i) => ({ kty: 'x', kid: `${i}` }))
    for (const answer of [
      { status: 200, body: `{"keys":[],"pad":"${'x'.repeat(300_000)}"}` },
      { status: 200, body: JSON.stringify({ keys: many }) },
      { status: 200, body: '{"keys":{}}' },
      { status: 200, body: 'null' },
      { status: 200, body: '<html>' },
      { status: 302, body: '', location: `${url}/elsewhere` },
    ]) {
      served = answer
      expect(await busy(verify(await sign(rsa, 'r')))).toBe(true)
      clock.pass(1_000)
    }
    expect(failures).toHaveLength(6)
    expect(fetches).toBe(6)
  })

  test('never answers is given up after five seconds', async () => {
    served = { status: 200, body: '', delay: true }
    const { verify, clock, failures } = door()
    const asked = busy(verify(await sign(rsa, 'r')))
    await until('the request', () => fetches === 1)
    clock.pass(4_999)
    expect(failures).toEqual([])
    clock.pass(1)
    expect(await asked).toBe(true)
    expect(failures).toHaveLength(1)
  })
})
