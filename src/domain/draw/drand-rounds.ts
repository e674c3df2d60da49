/**
 * drand's quicknet, the beacon of the League of Entropy: a signature every three seconds that a threshold of independent servers makes together, and that
 * none of them knows before. Chain and key are fixed here: what a server says of itself is not believed.
 */

/** A beacon of this source is fetched and checked; any other is entered by the operator. */
export const DRAND_SOURCE = 'drand'

export const QUICKNET = {
  chain: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  publicKey:
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  genesisMs: 1_692_803_367_000,
  periodMs: 3_000,
} as const

/** Clocks may differ a little: the round of a draw is at least so much later than the seal. */
const AFTER_SEAL_MS = 5_000

/** When a round is published. */
export function roundAtMs(round: number): number {
  return QUICKNET.genesisMs + (round - 1) * QUICKNET.periodMs
}

/** The first round that a draw with this seal may use. */
export function roundAfterSeal(sealsAtMs: number): number {
  return Math.max(1, Math.ceil((sealsAtMs + AFTER_SEAL_MS - QUICKNET.genesisMs) / QUICKNET.periodMs) + 1)
}
