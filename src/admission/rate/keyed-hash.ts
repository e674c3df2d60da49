/**
 * A 64-bit hash of a string under a secret: HalfSipHash-1-3, made for 32-bit arithmetic and for hash tables of untrusted keys. Without
 * the secret collisions can't be constructed, so a table may keep the hash instead of the string.
 * Two fields instead of a pair: nothing is allocated. Not for signatures.
 */

import type { Random } from '../../base/random.ts'

interface KeyedHash {
  /** Hashes `text` into `low` and `high`, unsigned 32 bits each. */
  read(text: string): void
  low: number
  high: number
}

export function createKeyedHash(random: Random): KeyedHash {
  const secret = new DataView(Uint8Array.from(random.bytes(8)).buffer)
  const key0 = secret.getInt32(0)
  const key1 = secret.getInt32(4)

  const hash: KeyedHash = {
    low: 0,
    high: 0,
    read(text) {
      let v0 = key0
      let v1 = key1 ^ 0xee
      let v2 = 0x6c796765 ^ key0
      let v3 = 0x74656462 ^ key1

      const length = text.length
      // Words of two UTF-16 units; then one of the odd unit and the length, so that no text is a prefix of another; then the finalization.
      const last = (length >> 1) + 1
      for (let word = 0; word < last + 6; word++) {
        let m = 0
        if (word < last - 1) m = text.charCodeAt(word * 2) | (text.charCodeAt(word * 2 + 1) << 16)
        else if (word === last - 1) m = (length & 1 ? text.charCodeAt(length - 1) : 0) | (length << 16)
        else if (word === last) v2 ^= 0xee
        else if (word === last + 3) {
          hash.low = (v1 ^ v3) >>> 0
          v1 ^= 0xdd
        }

        v3 ^= m
        v0 = (v0 + v1) | 0
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
        v0 = (v0 << 16) | (v0 >>> 16)
        v2 = (v2 + v3) | 0
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
        v0 = (v0 + v3) | 0
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
        v2 = (v2 + v1) | 0
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
        v2 = (v2 << 16) | (v2 >>> 16)
        v0 ^= m
      }
      hash.high = (v1 ^ v3) >>> 0
    },
  }
  return hash
}
