import { describe, expect, test } from 'bun:test'
import { createHash, createHmac } from 'node:crypto'
import { makeDraw, runSteps } from './draw.fixture.ts'
import { checkRecord, type DrawRecord } from './draw-record.ts'

const BEACON = { source: 'the numbers of a public lottery', value: '4 8 15 16 23 42' }
const RANDOM = 20_261_111
console.log(`seed of the made-up draws: ${RANDOM}`)

/** As docs/fairness.md tells it, without a line of ours. */
function orderByHand(record: DrawRecord): { root: string; order: number[] } {
  const sha = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const framed = (...values: (string | Uint8Array)[]) =>
    Buffer.concat(
      values.flatMap(value => {
        const [bytes, length] = [Buffer.from(value as string), Buffer.alloc(4)]
        length.writeUInt32BE(bytes.length)
        return [length, bytes]
      }),
    )
  const [seed, beacon] = [Buffer.from(record.seed, 'hex'), record.beacon]
  let head = sha(framed(record.algorithm, record.sale, sha(seed), beacon?.source ?? '', `${beacon?.round ?? ''}`))
  for (let at = 0; at < record.proofs.length; at += 32) head = sha(head, record.proofs.subarray(at, at + 32))
  const key = sha(framed(record.algorithm, record.sale, seed, head, beacon?.value ?? ''))
  const numbers = Array.from(record.order, (_, at) => at + 1)
  const hashes = numbers.map(number => createHmac('sha256', key).update(`${number}`).digest())
  return { root: head.toString('hex'), order: numbers.sort((a, b) => Buffer.compare(hashes[a - 1]!, hashes[b - 1]!)) }
}

describe('the record of a draw', () => {
  for (const joins of [0, 1, 2, 1_000, 12_000]) {
    test(`of ${joins} joins is right, and is what a program of its own computes`, () => {
      for (const beacon of [undefined, BEACON]) {
        const { record } = makeDraw(joins, RANDOM, beacon)
        expect(runSteps(checkRecord(record))).toBeUndefined()
        const byHand = orderByHand(record)
        expect(byHand.root).toBe(record.root)
        expect(
          Buffer.from(Uint32Array.from(byHand.order).buffer).equals(Buffer.from(record.order.slice().buffer)),
        ).toBeTrue()
      }
    })
  }

  const { record, receipts } = makeDraw(300, RANDOM, BEACON)
  const changedAt = (at: number) => record.proofs.map((byte, i) => (i === at ? byte ^ 1 : byte))
  const swapped = record.order.slice()
  ;[swapped[7], swapped[8]] = [record.order[8]!, record.order[7]!]
  const moved = Buffer.concat([
    record.proofs.subarray(32, 64),
    record.proofs.subarray(0, 32),
    record.proofs.subarray(64),
  ])

  const wrong: [string, Partial<DrawRecord>, RegExp][] = [
    ['a changed join', { proofs: changedAt(100 * 32) }, /^root: 300 joins/],
    ['the last join changed', { proofs: changedAt(300 * 32 - 1) }, /^root: 300 joins/],
    ['an added join', { proofs: Buffer.concat([record.proofs, record.proofs.subarray(0, 32)]) }, /^root: 301 joins/],
    ['a removed join', { proofs: record.proofs.subarray(0, 299 * 32) }, /^root: 299 joins/],
    ['two joins in another order', { proofs: moved }, /^root: 300 joins/],
    ['another seed', { seed: record.commitment }, /^seed: its SHA-256 is not the commitment/],
    [
      'another seed with its commitment',
      { seed: makeDraw(1, 1).record.seed, commitment: makeDraw(1, 1).record.commitment },
      /^root/,
    ],
    ['another order of the places', { order: swapped }, /^place 8: number \d+ stands there/],
    ['a place too few', { order: record.order.subarray(1) }, /^places: there are 299, and 300 joins/],
    ['another sale', { sale: '8042' }, /^root/],
    ['another beacon', { beacon: { ...BEACON, value: '4 8 15 16 23 43' } }, /^place 1: /],
    ['another source of the beacon', { beacon: { ...BEACON, source: 'another lottery' } }, /^root/],
    ['no beacon', { beacon: undefined }, /^root/],
    ['another algorithm', { algorithm: 'stampede-draw-2' }, /^the algorithm is "stampede-draw-2"/],
    ['a root that is none', { root: 'abc' }, /^root: not 64 digits/],
  ]
  for (const [name, change, difference] of wrong) {
    test(`${name} is found`, () => {
      expect(runSteps(checkRecord({ ...record, ...change }))).toMatch(difference)
    })
  }

  test('a receipt fixes its own join and every join before it', () => {
    const receipt = receipts[199]!
    expect(runSteps(checkRecord(record, receipt))).toBeUndefined()
    const early = { ...record, proofs: changedAt(0) }
    expect(runSteps(checkRecord(early, receipt))).toMatch(/^join 200: a join before it/)
    const own = { ...record, proofs: changedAt(199 * 32) }
    expect(runSteps(checkRecord(own, receipt))).toMatch(/^join 200: its proof/)
    const late = { ...record, proofs: changedAt(250 * 32) }
    expect(runSteps(checkRecord(late, receipt))).toMatch(/^root/)
    expect(runSteps(checkRecord(record, { ...receipt, number: 301 }))).toMatch(/not among the 300/)
  })
})

test('what a buyer holds before the reveal does not foretell the place: number, name, salt, proof, receipt, commitment and root', () => {
  const [joins, draws] = [200, 150]
  const start = (hex: string) => Number.parseInt(hex.slice(0, 8), 16)
  const sums: Record<string, number> = {}
  for (let draw = 0; draw < draws; draw++) {
    // Every tenth account is one of a program: it has a pattern in its name.
    const named = (n: number) => (n % 10 === 3 ? `bot-${n}` : `${(n * 7919) % 1000}-buyer`)
    const { record, receipts } = makeDraw(joins, RANDOM + 1 + draw, draw % 2 === 0 ? BEACON : undefined, named)
    const drawn = new Float64Array(joins)
    record.order.forEach((number, at) => {
      drawn[number - 1] = at
    })
    const known: Record<string, (receipt: (typeof receipts)[number]) => number> = {
      number: ({ number }) => number,
      'a pattern in the name': ({ buyer }) => (buyer.startsWith('bot') ? 1 : 0),
      salt: ({ salt }) => start(salt),
      proof: ({ proof }) => start(proof),
      receipt: ({ head }) => start(head),
      'receipt and root': ({ head }) => start(head) ^ start(record.root),
      'proof and commitment': ({ proof }) => start(proof) ^ start(record.commitment),
    }
    for (const [name, of] of Object.entries(known))
      sums[name] = (sums[name] ?? 0) + correlation(receipts.map(of), [...drawn])
  }
  // One draw has a deviation of 1/√(n-1); the mean of many is that much smaller.
  const unit = 1 / Math.sqrt((joins - 1) * draws)
  for (const [name, sum] of Object.entries(sums)) {
    const off = sum / draws / unit
    expect(`${name}: ${Math.abs(off) < 4.5 ? 'no help' : `${off} deviations`}`).toBe(`${name}: no help`)
  }
})

/** Pearson's. */
function correlation(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [mx, my] = [mean(xs), mean(ys)]
  const sum = (of: (at: number) => number) => xs.reduce((total, _, at) => total + of(at), 0)
  const across = sum(at => (xs[at]! - mx) * (ys[at]! - my))
  return across / Math.sqrt(sum(at => (xs[at]! - mx) ** 2) * sum(at => (ys[at]! - my) ** 2))
}
