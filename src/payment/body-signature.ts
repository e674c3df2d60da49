/**
 * The header `stampede-signature: t=SECONDS,v1=HEX`: an HMAC-SHA256 over the time, a dot and the raw body, compared in constant time. It is
 * good for five minutes before and after `t`, so that a recorded call can't be replayed later.
 *
 * A header may carry several `v1`, and there may be several keys: while a secret is replaced, one that fits is enough. What begins with
 * another name is left for later versions.
 */

import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

export const SIGNATURE_HEADER = 'stampede-signature'

const TOLERANCE_MS = 5 * 60_000
const HEADER_LENGTH_MAX = 1024
const SIGNATURES_MAX = 8

export function signBody(key: KeyObject, rawBody: Uint8Array, nowMs: number): string {
  const t = String(Math.floor(nowMs / 1000))
  return `t=${t},v1=${macOf(key, rawBody, t)}`
}

/** When it was signed, if one of the keys has signed it, and lately. Undefined: forged, stale or malformed. */
export function signedAtMs(
  keys: readonly KeyObject[],
  rawBody: Uint8Array,
  header: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (!header || header.length > HEADER_LENGTH_MAX) return undefined
  const parts = header.split(',').map(part => part.trim())
  if (parts.some(part => !/^[a-z][a-z0-9]*=\S+$/.test(part))) return undefined
  const valuesOf = (name: string) => parts.filter(part => part.startsWith(name)).map(part => part.slice(name.length))
  const [t, ...more] = valuesOf('t=')
  if (t === undefined || more.length > 0 || !/^[0-9]{1,12}$/.test(t)) return undefined
  const atMs = Number(t) * 1000
  const given = valuesOf('v1=').slice(0, SIGNATURES_MAX)
  const fits = keys.some(key => {
    const mac = macOf(key, rawBody, t)
    return given.some(one => isSameText(one, mac))
  })
  return fits && Math.abs(nowMs - atMs) <= TOLERANCE_MS ? atMs : undefined
}

export function isSameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given, 'utf8'), Buffer.from(expected, 'utf8')]
  return a.length === b.length && timingSafeEqual(a, b)
}

function macOf(key: KeyObject, rawBody: Uint8Array, t: string): string {
  return createHmac('sha256', key).update(`${t}.`).update(rawBody).digest('hex')
}
