/**
 * SHA-256 of some bytes, written into an array of the caller's: nothing is allocated. Of Bun's own API, because `node:crypto` gives out a new Buffer or
 * string for each hash, and in a server that verifies a ticket for every click they cost several times what the hashing does.
 */

export const SHA256_BYTES = 32

/** @param into 32 bytes; may be a part of what is hashed next */
export function sha256(bytes: Uint8Array, into: Uint8Array): void {
  Bun.SHA256.hash(bytes, into)
}
