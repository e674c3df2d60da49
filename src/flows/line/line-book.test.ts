import { describe, expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import type { BuyerHash } from './buyer-numbers.ts'
import { LineBook } from './line-book.ts'
import { estimateOf, FIRST_PACE, nextLetIn, pollAfterSeconds } from './line-pace.ts'
import { type LineAsk, numberJoins } from './number-joins.ts'

const SEED = 20_261_118
const PROOF = new Uint8Array(32)

/** Of names that are numbers. Pairs of neighbours collide in the low half, so that cells are searched. */
function numberHash(): BuyerHash {
  const hash = { low: 0, high: 0, read: (_: string) => {} }
  hash.read = text => {
    hash.low = Math.imul(Number(text) >>> 1, 2_654_435_761) >>> 8
    hash.high = Number(text)
  }
  return hash
}

const makeBook = (isDraw = false) => new LineBook({ saltKey: PROOF }, PROOF, numberHash(), isDraw)

test(`a book agrees with a plain list, whatever joins, ends and is let in (seed ${SEED})`, () => {
  const random = seededRandom(SEED)
  const book = makeBook()
  const gone = new Set<number>()
  for (let round = 0; round < 3_000; round++) {
    const roll = random.next()
    if (roll < 0.6 || book.numbers === 0) book.add(String(book.numbers + 1), PROOF)
    else if (roll < 0.9) {
      const number = 1 + Math.floor(random.next() * book.numbers)
      if (gone.has(number)) continue
      gone.add(number)
      book.end({ number, leftNo: gone.size })
    } else {
      const count = Math.floor(random.next() * 5)
      const inLine = range(book.letIn + 1, book.numbers).filter(number => !gone.has(number))
      const mark = book.markFor(count)
      expect(mark).toBeGreaterThanOrEqual(inLine.slice(0, count).at(-1) ?? 0)
      expect(book.countBetween(book.letIn, mark)).toBe(Math.min(count, inLine.length))
      book.step({ letIn: mark, atMs: round }, 1_000)
    }
    const inLine = range(book.letIn + 1, book.numbers).filter(number => !gone.has(number))
    expect(book.waiting).toBe(inLine.length)
    expect(book.joined).toBe(book.numbers - gone.size)
    const some = inLine[Math.floor(random.next() * inLine.length)]
    if (some !== undefined) expect(book.ahead(some)).toBe(inLine.indexOf(some))
    const any = 1 + Math.floor(random.next() * book.numbers)
    expect(book.numberOf(String(any))).toBe(gone.has(any) ? undefined : any)
  }
})

test('drawn positions: no position before the draw, the drawn ones after it, late joins behind; those who left before and after are passed', () => {
  const book = makeBook(true)
  for (const buyer of ['1', '2', '3', '4']) book.add(buyer, PROOF)
  book.end({ number: 2, leftNo: 1 })
  expect(book.positionOf(1)).toBeUndefined()
  book.draw(new Uint32Array([0, 3, 1, 4, 2]))
  book.add('5', PROOF)
  expect([1, 2, 3, 4, 5].map(number => book.positionOf(number))).toEqual([3, 1, 4, 2, 5])
  expect([4, 1, 3, 5].map(number => book.ahead(book.positionOf(number)!))).toEqual([0, 1, 2, 3])
  book.end({ number: 1, leftNo: 2 })
  expect(book.ahead(book.positionOf(3)!)).toBe(1)
  expect(book.markFor(1)).toBe(2)
})

test('a million in line take a few dozen bytes each', () => {
  const book = makeBook()
  for (let i = 1; i <= 1_000_000; i++) book.add(String(i), PROOF)
  console.log(`  ${(book.bytes / 1_000_000).toFixed(1)} bytes each`)
  expect(book.bytes / 1_000_000).toBeLessThan(72)
  expect(book.numberOf('1000000')).toBe(1_000_000)
})

describe('numbering', () => {
  const line = { saltKey: PROOF, head: PROOF, numbers: 2, leaves: 1, joined: new Map([['ann', 2]]) }
  const join = (buyer: string, instead = 0): LineAsk => ({ kind: 'join', buyer, instead })

  test('each buyer has one number, also within a batch; a named number is replaced once', () => {
    const asks: LineAsk[] = [
      join('bob'),
      join('ann'),
      join('bob'),
      join('ann', 2),
      join('ann', 2),
      { kind: 'leave', buyer: 'bob' },
    ]
    const { result } = numberJoins('1', line, [...asks, { kind: 'leave', buyer: 'cid' }, join('bob')])
    expect(result.answers).toEqual([
      { kind: 'joined', number: 3 },
      { kind: 'same', number: 2 },
      { kind: 'same', number: 3 },
      { kind: 'joined', number: 4 },
      { kind: 'same', number: 4 },
      { kind: 'ended' },
      { kind: 'not_in_line' },
      { kind: 'joined', number: 5 },
    ])
    expect(result.write?.joins.map(one => [one.number, one.buyer, one.leftNo])).toEqual([
      [3, 'bob', 3],
      [4, 'ann', undefined],
      [5, 'bob', undefined],
    ])
    expect(result.write).toMatchObject({ ends: [{ number: 2, leftNo: 2 }], numbers: 5, leaves: 3 })
  })

  test('a batch that changes nothing writes nothing', () => {
    expect(numberJoins('1', line, [join('ann'), { kind: 'leave', buyer: 'cid' }]).write).toBeUndefined()
  })
})

describe('how fast', () => {
  const well = { rate: 'auto', elapsedMs: 250, left: 10, inside: 0, queueDepth: 0, answerMs: 5 } as const

  test('auto lets in as many as there are units for, none without a unit or without knowing, and fewer under load', () => {
    expect(nextLetIn(FIRST_PACE, well).count).toBe(10)
    expect(nextLetIn(FIRST_PACE, { ...well, inside: 7 }).count).toBe(3)
    expect(nextLetIn(FIRST_PACE, { ...well, inside: 12 }).count).toBe(0)
    expect(nextLetIn(FIRST_PACE, { ...well, left: 0 }).count).toBe(0)
    expect(nextLetIn(FIRST_PACE, { ...well, left: undefined }).count).toBe(0)
    expect(nextLetIn(FIRST_PACE, well).pace.perSecond).toBeGreaterThan(FIRST_PACE.perSecond)
    expect(nextLetIn(FIRST_PACE, { ...well, queueDepth: 10_000 }).pace.perSecond).toBeLessThan(FIRST_PACE.perSecond)
    expect(nextLetIn(FIRST_PACE, { ...well, answerMs: 5_000 }).pace.perSecond).toBeLessThan(FIRST_PACE.perSecond)
  })

  test('a rate is kept over uneven rounds, does not catch up on a long pause, and ends with the stock', () => {
    let pace = FIRST_PACE
    let total = 0
    const random = seededRandom(SEED)
    let elapsedMs = 0
    while (elapsedMs < 60_000) {
      const facts = { ...well, rate: 7.5, elapsedMs: 100 + random.next() * 400 }
      const next = nextLetIn(pace, facts)
      elapsedMs += facts.elapsedMs
      total += next.count
      pace = next.pace
    }
    expect(total / (elapsedMs / 1000)).toBeCloseTo(7.5, 1)
    expect(nextLetIn(FIRST_PACE, { ...well, rate: 10, elapsedMs: 60_000 }).count).toBe(10)
    expect(nextLetIn(FIRST_PACE, { ...well, rate: 10, left: 0 }).count).toBe(0)
  })

  test('an estimate is a range from the last minute, and unknown where nothing moved', () => {
    const steady = Array.from({ length: 61 }, (_, i) => ({ letIn: i * 10, atMs: i * 1_000 }))
    expect(estimateOf(99, steady, 60_000)).toEqual({ fromSeconds: 10, toSeconds: 10 })
    expect(estimateOf(99, steady, 130_000)).toBeUndefined()
    expect(estimateOf(99, [], 1_000)).toBeUndefined()
    expect(estimateOf(99, steady.slice(0, 3), 2_000)).toBeUndefined()
    const slowing = steady.map(step => ({ ...step, letIn: Math.min(step.letIn, 400) }))
    const range = estimateOf(99, slowing, 60_000)!
    expect(range.fromSeconds).toBeLessThan(range.toSeconds)
  })

  test('polls are rarer in a longer line, and bounded', () => {
    expect(pollAfterSeconds(0, 10, { fromSeconds: 1, toSeconds: 2 })).toBe(2)
    expect(pollAfterSeconds(900_000, 1_000_000, { fromSeconds: 9_000, toSeconds: 20_000 })).toBe(30)
    expect(pollAfterSeconds(undefined, 10, undefined)).toBeLessThanOrEqual(30)
  })
})

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}
