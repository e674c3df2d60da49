import { describe, expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import { runSteps } from './draw.fixture.ts'
import { drawOrder, positionsByNumber } from './drawn-order.ts'

const RANDOM = 1_117
console.log(`seed of the made-up keys: ${RANDOM}`)

const DRAWS = 10_000

/** The places of `count` numbers in many draws: of each draw, at [n - 1] the place of number n. */
function* manyDraws(count: number): Generator<Uint32Array> {
  const chance = seededRandom(RANDOM)
  for (let draw = 0; draw < DRAWS; draw++) {
    const key = Buffer.from(chance.bytes(32))
    yield positionsByNumber(runSteps(drawOrder(key, count))).subarray(1)
  }
}

/** How far a chi-squared sum is from what chance gives, in standard deviations (Wilson and Hilferty). */
function deviation(chiSquared: number, freedom: number): number {
  return (Math.cbrt(chiSquared / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom))
}

/** Pearson's correlation. */
function correlation(xs: ArrayLike<number>, ys: ArrayLike<number>): number {
  const mean = (values: ArrayLike<number>) => Array.from(values).reduce((sum, value) => sum + value, 0) / values.length
  const [mx, my] = [mean(xs), mean(ys)]
  let [xy, xx, yy] = [0, 0, 0]
  for (let i = 0; i < xs.length; i++) {
    const [dx, dy] = [xs[i]! - mx, ys[i]! - my]
    xy += dx * dy
    xx += dx * dx
    yy += dy * dy
  }
  return xy / Math.sqrt(xx * yy)
}

describe('the places of a draw', () => {
  test('are each number once, whatever the count', () => {
    for (const count of [0, 1, 2, 3, 100, 4_097, 20_000]) {
      const numbers = runSteps(drawOrder(Buffer.alloc(32, 5), count))
      expect(numbers.slice().sort()).toEqual(Uint32Array.from({ length: count }, (_, at) => at + 1))
      const positions = positionsByNumber(numbers)
      for (let at = 0; at < count; at++) expect(positions[numbers[at]!]).toBe(at + 1)
    }
  })

  test('of two numbers are in the same order, however many others there are', () => {
    const key = Buffer.alloc(32, 6)
    const [few, many] = [500, 3_000].map(count => runSteps(drawOrder(key, count))) as [Uint32Array, Uint32Array]
    expect(many.filter(number => number <= 500)).toEqual(few as Uint32Array<ArrayBuffer>)
  })

  test('give every number every place equally often (chi-squared over 10,000 draws)', () => {
    const count = 20
    const table = new Float64Array(count * count)
    const pairs = new Float64Array(count * count)
    for (const positions of manyDraws(count)) {
      for (let n = 0; n < count; n++) {
        table[n * count + positions[n]! - 1]! += 1
        pairs[(positions[n]! - 1) * count + positions[(n + 1) % count]! - 1]! += 1
      }
    }
    const expected = DRAWS / count
    const spread = table.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0)
    // Rows and columns add up to the number of draws: (n - 1)² values are free.
    const placed = deviation(spread, (count - 1) ** 2)
    // Neighbours in the line: any two different places equally often.
    const between = (DRAWS * count) / (count * (count - 1))
    const neighbours = pairs.reduce((sum, seen, at) => {
      const isSame = Math.floor(at / count) === at % count
      return isSame ? sum + seen * 1e9 : sum + (seen - between) ** 2 / between
    }, 0)
    const apart = deviation(neighbours, count * (count - 1) - 1)
    console.log(
      `chi-squared: places ${placed.toFixed(2)}, neighbours ${apart.toFixed(2)} standard deviations from chance`,
    )
    expect(Math.abs(placed)).toBeLessThan(4)
    expect(Math.abs(apart)).toBeLessThan(4)
  })

  test('are not foretold by the number, the time or a pattern of the account', () => {
    const count = 400
    // What is known of a join before the draw: its number, how fast joins came, and what its account looks like.
    const known: Record<string, (number: number) => number> = {
      number: number => number,
      'last bit of the number': number => number % 2,
      'number modulo 10': number => number % 10,
      'digits of the number': number => String(number).length,
      'time, if the crowd comes at once': number => Math.log(number),
      'time, if it comes in bursts': number => Math.floor(number / 50),
      'account: every tenth is made up': number => (number % 10 === 3 ? 1 : 0),
      'account: the first hundred are made up': number => (number <= 100 ? 1 : 0),
      'place in the draw before': () => 0,
    }
    const sums = Object.keys(known).map(() => 0)
    let before: Uint32Array | undefined
    const draws = 500
    let draw = 0
    for (const positions of manyDraws(count)) {
      Object.values(known).forEach((value, at) => {
        const xs = Float64Array.from({ length: count }, (_, i) => value(i + 1))
        const isBefore = at === sums.length - 1
        if (!isBefore || before !== undefined) sums[at]! += correlation(isBefore ? before! : xs, positions)
      })
      before = positions.slice()
      if (++draw === draws) break
    }
    // The correlation of one draw has a deviation of 1/√(n-1); the mean of many is that much smaller.
    const unit = 1 / Math.sqrt((count - 1) * draws)
    for (const [at, name] of Object.keys(known).entries()) {
      const off = sums[at]! / draws / unit
      expect(`${name}: ${Math.abs(off) < 4.5 ? 'no help' : `${off} deviations`}`).toBe(`${name}: no help`)
    }
  })
})
