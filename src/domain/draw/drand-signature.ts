/**
 * Is a signature that of a round of drand's quicknet? Scheme bls-unchained-g1-rfc9380: the signed message is SHA-256 of the round (eight bytes, most
 * significant first), and the value is SHA-256 of the signature. Takes up to half a second the first time: a server does it in a thread of its own.
 */

import { bls12_381 } from '@noble/curves/bls12-381.js'
import { DRAND_SOURCE, QUICKNET, roundAfterSeal } from './drand-rounds.ts'
import { fromHex, hashOf, toHex } from './draw-bytes.ts'
import type { Beacon } from './draw-key.ts'

const SIGNATURE_BYTES = 48
const DOMAIN = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_'

/** The value that follows from a round's signature; undefined if the signature is not that of this round. */
export function drandValue(round: number, signature: string): string | undefined {
  const bytes = fromHex(signature, SIGNATURE_BYTES)
  if (bytes === undefined) return undefined
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(round))
  const { shortSignatures } = bls12_381
  try {
    const point = shortSignatures.hash(hashOf(message), DOMAIN)
    return shortSignatures.verify(bytes, point, Buffer.from(QUICKNET.publicKey, 'hex'))
      ? toHex(hashOf(bytes))
      : undefined
  } catch {
    // Bytes that are no point of the curve.
    return undefined
  }
}

/** What is wrong with the beacon of a record, in words; undefined: nothing that can be seen from here. */
export function beaconDifference(beacon: Beacon | undefined, sealsAtMs: number): string | undefined {
  if (beacon?.source !== DRAND_SOURCE) return undefined
  const { round, signature, value } = beacon
  if (round === undefined || signature === undefined) return 'beacon: of drand, without round or signature'
  if (round < roundAfterSeal(sealsAtMs)) return `beacon: round ${round} of drand is not later than the seal`
  if (drandValue(round, signature) !== value)
    return `beacon: the signature is not that of round ${round} of drand, or the value does not follow from it`
  return undefined
}
