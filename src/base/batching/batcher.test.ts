import { describe, expect, test } from 'bun:test'
import { Bug } from '../assert.ts'
import { seededRandom, systemRandom } from '../random.ts'
import { createBatcher } from './batcher.ts'

/** A `run` that the test answers by hand, and that notices a second batch in flight. */
function handRun() {
  const batches: number[][] = []
  let answer: PromiseWithResolvers<readonly number[]> | undefined
  return {
    batches,
    run(batch: readonly number[]): Promise<readonly number[]> {
      expect(answer).toBeUndefined()
      batches.push([...batch])
      answer = Promise.withResolvers()
      return answer.promise
    },
    inFlight: () => answer !== undefined,
    async finish(error?: Error): Promise<void> {
      const { resolve, reject } = answer!
      answer = undefined
      if (error) reject(error)
      else resolve(batches.at(-1)!.map(n => n * 10))
      await turn()
    },
  }
}

/** Lets everything that is due happen. */
const turn = () => new Promise<void>(resolve => setImmediate(resolve))

describe('the line', () => {
  test('runs a lone ask at once, and those of the same tick together', async () => {
    const hand = handRun()
    const line = createBatcher({ batchMax: 8, queueMax: 8, run: hand.run })
    const answers = [line.join(1)!, line.join(2)!]
    expect(hand.batches).toEqual([])
    await turn()
    expect(hand.batches).toEqual([[1, 2]])
    await hand.finish()
    expect(await Promise.all(answers)).toEqual([10, 20])
  })

  test('collects the next batch while one is in flight, in the order of joining and never above batchMax', async () => {
    const hand = handRun()
    const line = createBatcher({ batchMax: 3, queueMax: 100, run: hand.run })
    const answers = [line.join(0)!]
    await turn()
    for (let n = 1; n <= 7; n++) answers.push(line.join(n)!)
    expect(line.depth()).toBe(7)
    while (hand.inFlight()) await hand.finish()
    expect(hand.batches).toEqual([[0], [1, 2, 3], [4, 5, 6], [7]])
    expect(await Promise.all(answers)).toEqual([0, 10, 20, 30, 40, 50, 60, 70])
    expect(line.peak()).toEqual({ depth: 7, batch: 3 })
    expect(line.depth()).toBe(0)
  })

  test('is full at lineMax, those in flight not counted, and takes again when it has moved', async () => {
    const hand = handRun()
    const line = createBatcher({ batchMax: 2, queueMax: 3, run: hand.run })
    const answers = [line.join(1), line.join(2), line.join(3)]
    expect(line.join(4)).toBeUndefined()
    await turn()
    expect(line.depth()).toBe(1)
    answers.push(line.join(5), line.join(6))
    expect(line.join(7)).toBeUndefined()
    while (hand.inFlight()) await hand.finish()
    expect(hand.batches).toEqual([[1, 2], [3, 5], [6]])
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 50, 60])
  })

  test('starts in the way it is told: everyone who joined until then is in the first batch', async () => {
    const hand = handRun()
    const due: (() => void)[] = []
    const line = createBatcher({ batchMax: 8, queueMax: 8, run: hand.run, defer: fn => due.push(fn) })
    const answers = [line.join(1)!]
    await turn()
    answers.push(line.join(2)!)
    await turn()
    expect(hand.batches).toEqual([])
    expect(due.length).toBe(1)
    due[0]!()
    await hand.finish()
    expect(hand.batches).toEqual([[1, 2]])
    expect(await Promise.all(answers)).toEqual([10, 20])
  })

  test('where it has turns, whoever was just answered shares the next batch with those who waited; nobody is waited for long', async () => {
    const hand = handRun()
    const due: (() => void)[] = []
    const line = createBatcher({ batchMax: 8, queueMax: 8, run: hand.run, defer: fn => due.push(fn) })
    const pass = async () => {
      due.shift()!()
      await turn()
    }
    const answers = [line.join(1)!, line.join(2)!]
    await pass()
    answers.push(line.join(3)!)
    await hand.finish()
    expect(hand.inFlight()).toBe(false)
    answers.push(line.join(4)!)
    await pass()
    expect(hand.inFlight()).toBe(false)
    answers.push(line.join(5)!)
    await pass()
    expect(hand.batches).toEqual([
      [1, 2],
      [3, 4, 5],
    ])

    answers.push(line.join(6)!)
    await hand.finish()
    let turns = 0
    for (; due.length > 0; turns++) await pass()
    expect(turns).toBeLessThan(5)
    expect(hand.batches.at(-1)).toEqual([6])
    await hand.finish()
    while (due.length > 0) await pass()
    await line.drained()
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 40, 50, 60])
  })
})

describe('a batch that fails', () => {
  test('rejects its own asks with its own error, and the line goes on', async () => {
    const hand = handRun()
    const line = createBatcher({ batchMax: 2, queueMax: 8, run: hand.run })
    const outcomes = Promise.allSettled([line.join(1)!, line.join(2)!, line.join(3)!])
    await turn()
    const error = new Error('the ledger is away')
    await hand.finish(error)
    await hand.finish()
    expect(await outcomes).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 30 },
    ])
  })

  test('before it could even start rejects just the same, however the line is started', async () => {
    const error = new Error('no connection')
    const run = (): Promise<readonly number[]> => {
      throw error
    }
    for (const defer of [queueMicrotask, (fn: () => void) => fn()]) {
      const line = createBatcher<number, number>({ batchMax: 2, queueMax: 8, run, defer })
      expect(await line.join(1)!.catch(reason => reason)).toBe(error)
      expect(await line.join(2)!.catch(reason => reason)).toBe(error)
      await line.drained()
    }
  })

  test('with an answer too few or too many is a bug, not a mix-up', async () => {
    for (const answers of [[1], [1, 2, 3]]) {
      const line = createBatcher<number, number>({ batchMax: 2, queueMax: 8, run: async () => answers })
      const outcomes = await Promise.allSettled([line.join(1)!, line.join(2)!])
      for (const outcome of outcomes) {
        expect(outcome.status).toBe('rejected')
        expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(Bug)
      }
    }
  })
})

describe('drained', () => {
  test('resolves at once when idle, and only when nobody waits and nothing is in flight', async () => {
    const hand = handRun()
    const line = createBatcher({ batchMax: 1, queueMax: 8, run: hand.run })
    await line.drained()
    const answers = Promise.allSettled([line.join(1)!, line.join(2)!])
    let drained = false
    const both = Promise.all([line.drained(), line.drained()]).then(() => {
      drained = true
    })
    await turn()
    await hand.finish()
    expect(drained).toBe(false)
    expect(line.depth()).toBe(0)
    let alsoDrained = false
    const last = line.drained().then(() => {
      alsoDrained = true
    })
    await turn()
    expect(alsoDrained).toBe(false)
    await hand.finish(new Error('even when the last one fails'))
    await both
    await last
    await answers
    await line.drained()
  })
})

test('among 100,000 random joins nothing is lost, doubled, overtaken or run two at a time', async () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  const random = seededRandom(seed)
  const batchMax = 64
  const queueMax = 300
  const ran: number[] = []
  let inFlight = 0
  const line = createBatcher<number, number>({
    batchMax,
    queueMax,
    defer: random.next() < 0.5 ? queueMicrotask : fn => setImmediate(fn),
    async run(batch) {
      inFlight += 1
      expect(inFlight).toBe(1)
      expect(batch.length).toBeWithin(1, batchMax + 1)
      for (const ask of batch) ran.push(ask)
      if (random.next() < 0.3) await turn()
      inFlight -= 1
      if (random.next() < 0.1) throw batch[0]
      return batch.map(ask => -ask)
    },
  })

  const joined: number[] = []
  let settled = 0
  let wrong = 0
  const settle = (right: boolean) => {
    settled += 1
    if (!right) wrong += 1
  }
  for (let ask = 1; ask <= 100_000; ask++) {
    const answer = line.join(ask)
    if (answer === undefined) {
      expect(line.depth()).toBe(queueMax)
      await turn()
      continue
    }
    joined.push(ask)
    answer.then(
      value => settle(value === -ask),
      first => settle(first <= ask && ask - first < 2 * queueMax),
    )
    if (random.next() < 0.01) await turn()
  }
  await line.drained()
  await turn()
  expect(ran).toEqual(joined)
  expect(settled).toBe(joined.length)
  expect(wrong).toBe(0)
  expect(joined.length).toBeGreaterThan(50_000)
  expect(line.peak().depth).toBeLessThanOrEqual(queueMax)
  expect(line.depth()).toBe(0)
})
