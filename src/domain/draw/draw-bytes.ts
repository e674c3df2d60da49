/**
 * How the values of a draw become bytes, so that an independent program can make the same ones. One rule for every list of values: each value is preceded
 * by its length as four bytes, most significant first; text is UTF-8. So no value can slide into its neighbour. Hashes are shown in lower-case hex.
 */

import { createHash, createHmac } from 'node:crypto'

/** Bytes of a seed, a salt, a proof, a head, a root and a key. */
export const HASH_BYTES = 32

/** The values in a row, each after its length. */
export function framed(...values: readonly (string | Uint8Array)[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (const value of values) {
    const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    parts.push(length, bytes)
  }
  return Buffer.concat(parts)
}

export function hashOf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}

export function keyedHashOf(key: Uint8Array, message: string | Uint8Array): Uint8Array {
  return createHmac('sha256', key).update(message).digest()
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** The bytes of a hash in lower-case hex; undefined if the text is anything else. */
export function fromHex(text: string, length = HASH_BYTES): Uint8Array | undefined {
  return text.length === length * 2 && /^[0-9a-f]*$/.test(text) ? Buffer.from(text, 'hex') : undefined
}
