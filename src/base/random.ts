/** Chance, as a port: system randomness in production, a seeded sequence in tests and simulations. */

import { randomBytes } from 'node:crypto'

export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Fit for secrets in production. */
  bytes(length: number): Uint8Array
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: length => randomBytes(length),
}

/** A repeatable sequence (mulberry32). Never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return { next, bytes: length => Uint8Array.from({ length }, () => Math.floor(next() * 256)) }
}
