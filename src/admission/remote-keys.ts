/**
 * The shop's public keys, fetched from its JWKS address. Only public RSA (2048 bits and more), P-256 and Ed25519 keys are used; everything
 * else in the set (secrets, private keys, keys for encryption) is ignored.
 *
 * States: none → fresh → aged → fresh …  Aged keys are fetched again in the background and stay valid meanwhile, also when the address
 * does not answer. An unknown key id fetches the set again, at most once per cool-down: made-up key ids cost no more.
 * Guarantees: one fetch at a time, bounded in time and size, no redirects. Does not know tokens.
 */

import { createLocalJWKSet, errors, importJWK, type JWK, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../base/clock.ts'
import { withDeadline } from '../base/deadline.ts'
import { Fault } from '../base/fault.ts'

const ALGORITHM_OF: Readonly<Record<string, string>> = { RSA: 'RS256', EC: 'ES256', OKP: 'EdDSA' }
export const REMOTE_ALGORITHMS = Object.values(ALGORITHM_OF)

const FETCH_MS_MAX = 5_000
const BYTES_MAX = 256 * 1024
const KEYS_MAX = 100
const AGED_AFTER_MS = 10 * 60_000
const COOL_DOWN_MS = 30_000
/** Shorter after a failure: without keys no buyer can sign in. */
const COOL_DOWN_FAILED_MS = 1_000
const RSA_MODULUS_BYTES_MIN = 256

export type RemoteKeys = ReturnType<typeof createRemoteKeys>

interface RemoteKeysOptions {
  readonly url: string
  readonly clock: Clock
  readonly onFailed: (why: string) => void
}

export function createRemoteKeys({ url, clock, onFailed }: RemoteKeysOptions) {
  let find: ReturnType<typeof createLocalJWKSet> | undefined
  let content = ''
  let version = 0
  let fetchedAtMs = Number.NEGATIVE_INFINITY
  let triedAtMs = Number.NEGATIVE_INFINITY
  let failed = false
  let underWay: Promise<void> | undefined

  /** Never rejects: an error sets `failed`. */
  function refetch(): Promise<void> {
    underWay ??= (async () => {
      triedAtMs = clock.elapsed()
      try {
        const keys = await usable(await fetchSet(url, clock))
        const text = JSON.stringify(keys)
        if (text !== content) version += 1
        content = text
        find = createLocalJWKSet({ keys })
        fetchedAtMs = clock.elapsed()
        failed = false
      } catch (error) {
        failed = true
        onFailed(error instanceof Error ? error.message : String(error))
      } finally {
        underWay = undefined
      }
    })()
    return underWay
  }

  const cool = () => clock.elapsed() - triedAtMs >= (failed ? COOL_DOWN_FAILED_MS : COOL_DOWN_MS)

  const key: JWTVerifyGetKey = async (header, token) => {
    try {
      if (find !== undefined) return await find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    }
    if (underWay !== undefined || cool()) await refetch()
    if (failed || find === undefined)
      throw new Fault('keys_unreachable', "the shop's keys can't be fetched", { retryable: true })
    return find(header, token)
  }

  return {
    /** For jose. Throws `JWKSNoMatchingKey` for a key that is not there, a retryable `Fault` when that can't be known. */
    key,
    /** Changes with the set of keys: a token verified before may have been verified with a key that is gone. */
    version: () => version,
    /** Fetches aged keys again in the background. */
    freshen(): void {
      if (find !== undefined && clock.elapsed() - fetchedAtMs >= AGED_AFTER_MS && cool()) void refetch()
    },
  }
}

function fetchSet(url: string, clock: Clock): Promise<unknown> {
  return withDeadline(clock, FETCH_MS_MAX, async signal => {
    const headers = { accept: 'application/jwk-set+json, application/json' }
    try {
      const response = await fetch(url, { headers, redirect: 'error', signal })
      if (!response.ok) throw new Error(`the answer was ${response.status}`)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        size += chunk.byteLength
        if (size > BYTES_MAX) throw new Error(`the answer has more than ${BYTES_MAX} bytes`)
        chunks.push(chunk)
      }
      return JSON.parse(Buffer.concat(chunks).toString('utf8'))
    } catch (error) {
      throw signal.aborted ? new Error(`no answer within ${FETCH_MS_MAX} ms`) : error
    }
  })
}

/** The keys that may be trusted. An answer that is no key set is an error; an unknown kind of key is not. */
async function usable(set: unknown): Promise<JWK[]> {
  const listed = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(listed)) throw new Error('the answer is not a key set')
  if (listed.length > KEYS_MAX) throw new Error(`the answer has more than ${KEYS_MAX} keys`)
  const keys: JWK[] = []
  for (const key of listed as (JWK | null)[]) if (key !== null && (await isUsable(key))) keys.push(key)
  return keys
}

async function isUsable(key: JWK): Promise<boolean> {
  const alg = ALGORITHM_OF[key.kty ?? '']
  if (alg === undefined || (key.alg !== undefined && key.alg !== alg)) return false
  if ('d' in key || 'k' in key || (key.use !== undefined && key.use !== 'sig')) return false
  if (key.kty === 'EC' && key.crv !== 'P-256') return false
  if (key.kty === 'OKP' && key.crv !== 'Ed25519') return false
  try {
    if (key.kty === 'RSA' && Buffer.from(String(key.n), 'base64url').length < RSA_MODULUS_BYTES_MIN) return false
    await importJWK(key, alg)
    return true
  } catch {
    return false
  }
}
