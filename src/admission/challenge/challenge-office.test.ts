import { expect, test } from 'bun:test'
import { type Challenge, createChallenge, type Solution, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { createChallengeOffice } from './challenge-office.ts'
import { createDifficulty } from './difficulty.ts'

const SECRET = 'a secret that all edges share'
const SUBJECT = { sale: '4711', item: '4712', buyer: 'ann', attempt: 1 }
/** A thousandth of the usual work. */
const EASY = 0.001

let aheadMs = 0
const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
const office = createChallengeOffice({ secret: SECRET, clock, random: systemRandom })

async function solve(challenge: Challenge): Promise<Solution> {
  const solution = await solveChallenge({ challenge, deriveKey })
  if (solution === null) throw new Error('not solved')
  return solution
}

async function solved(subject = SUBJECT, from = office) {
  const challenge = await from.make(subject, EASY)
  return { challenge, solution: await solve(challenge) }
}

test('a solved challenge passes, as often as its own buyer sends it, at every edge with the secret', async () => {
  const payload = await solved()
  expect(await office.check(SUBJECT, payload)).toBe('passed')
  expect(await office.check(SUBJECT, JSON.parse(JSON.stringify(payload)))).toBe('passed')
  expect(
    await createChallengeOffice({ secret: SECRET, clock: systemClock, random: systemRandom }).check(SUBJECT, payload),
  ).toBe('passed')
})

test('a challenge is the same as the one that altcha-lib makes and signs, also for a name in other letters', async () => {
  for (const buyer of ['ann', '买家 "1"', '\u2028é']) {
    const ours = await office.make({ ...SUBJECT, buyer }, 1)
    const { algorithm, ...rest } = ours.parameters
    const theirs = await createChallenge({ algorithm, ...rest, deriveKey, hmacSignatureSecret: SECRET })
    const sameChance = { ...theirs.parameters, nonce: ours.parameters.nonce, salt: ours.parameters.salt }
    expect(sameChance).toEqual(ours.parameters)
    expect(await office.check({ ...SUBJECT, buyer }, { challenge: ours, solution: await solve(ours) })).toBe('passed')
  }
})

test('solved for another sale, item, buyer or attempt it is worth nothing', async () => {
  const payload = await solved()
  for (const other of [{ sale: '1' }, { item: '1' }, { buyer: 'bob' }, { attempt: 2 }])
    expect(await office.check({ ...SUBJECT, ...other }, payload)).toBe('foreign')
})

test('one that was changed to fit another subject, made easier or made to last is forged', async () => {
  const { challenge, solution } = await solved()
  const { parameters } = challenge
  const stolen = { ...challenge, parameters: { ...parameters, data: { ...parameters.data!, buyer: 'bob' } } }
  expect(await office.check({ ...SUBJECT, buyer: 'bob' }, { challenge: stolen, solution })).toBe('forged')
  for (const changed of [{ cost: 1 + parameters.cost }, { keyPrefix: '0' }, { expiresAt: parameters.expiresAt! + 1 }]) {
    const easier = { ...challenge, parameters: { ...parameters, ...changed } }
    expect(await office.check(SUBJECT, { challenge: easier, solution: await solve(easier) })).toBe('forged')
  }
  const foreign = createChallengeOffice({ secret: 'another secret', clock: systemClock, random: systemRandom })
  expect(await office.check(SUBJECT, await solved(SUBJECT, foreign))).toBe('forged')
})

test('an expired one is refused, and one without a right key is wrong', async () => {
  const payload = await solved()
  aheadMs = 3_600_000
  expect(await office.check(SUBJECT, payload)).toBe('expired')
  aheadMs = 0
  const { challenge, solution } = payload
  const counter = solution.counter + 1
  expect(await office.check(SUBJECT, { challenge, solution: { ...solution, counter } })).toBe('wrong')
  const derivedKey = `00${'ab'.repeat(31)}`
  expect(await office.check(SUBJECT, { challenge, solution: { ...solution, derivedKey } })).toBe('wrong')
})

test('what no solver sends is malformed, whatever it is', async () => {
  const { challenge, solution } = await solved()
  const { signature, ...unsigned } = challenge
  const other = await createChallenge({ algorithm: 'SHA-256', cost: 1, deriveKey, hmacSignatureSecret: SECRET })
  const payloads = [
    ...[undefined, null, 0, '', 'abc', [], {}, { challenge }, { solution }, { challenge: other, solution }],
    { challenge: unsigned, solution },
    { challenge: { ...challenge, signature: 'é'.repeat(64) }, solution },
    { challenge: { ...challenge, parameters: { ...challenge.parameters, nonce: 'zz' } }, solution },
    { challenge, solution: { ...solution, counter: -1 } },
    { challenge, solution: { ...solution, counter: 1.5 } },
    { challenge, solution: { ...solution, derivedKey: '' } },
  ]
  for (const payload of payloads) expect(await office.check(SUBJECT, payload)).toBe('malformed')
  expect(signature).toHaveLength(64)
})

test('twice the difficulty is twice the work, and the check of any costs at most a hundredth of its work', async () => {
  const work = async (difficulty: number) => {
    const { cost, keyPrefix } = (await office.make(SUBJECT, difficulty)).parameters
    return { tries: 16 ** keyPrefix.length, hashes: 16 ** keyPrefix.length * cost }
  }
  for (let difficulty = 1; difficulty < 128; difficulty *= 2) {
    const [once, twice] = [await work(difficulty), await work(2 * difficulty)]
    expect(twice.hashes / once.hashes).toBeWithin(1.99, 2.01)
    // One try is the check.
    expect(once.tries).toBeGreaterThanOrEqual(100)
  }
})

test('a challenge gets harder with the asks of its network and with the attempts of its buyer, up to a bound', () => {
  const { next } = createDifficulty({ clock, random: systemRandom, edges: () => 1 })
  expect(next(1, '192.0.2.1', 1)).toBe(1)
  expect(next(1, '192.0.2.1', 2)).toBe(2)
  expect(next(3, '198.51.100.1', 3)).toBe(12)
  for (let n = 0; n < 300; n++) next(1, `203.0.113.${n % 250}`, 1)
  expect(next(1, '203.0.113.251', 1)).toBe(4)
  expect(next(1, '203.0.114.1', 1)).toBe(1)
  for (let n = 0; n < 5_000; n++) next(1, '203.0.113.1', 9)
  expect(next(1, '203.0.113.251', 9)).toBe(128)
  expect(next(1_000, '203.0.113.251', 1)).toBe(1_000)
})

test('an IPv6 network is the first 48 bits', () => {
  const { next } = createDifficulty({ clock, random: systemRandom, edges: () => 1 })
  for (let n = 0; n < 100; n++) next(1, `2001:db8:0:${n.toString(16)}::/64`, 1)
  expect(next(1, '2001:db8:0:ffff::/64', 1)).toBe(2)
  expect(next(1, '2001:db8:1:0::/64', 1)).toBe(1)
})

test('of four edges each sees a quarter of the asks, and makes the challenge as hard as all of them do', () => {
  const edges = Array.from({ length: 4 }, () => createDifficulty({ clock, random: systemRandom, edges: () => 4 }))
  for (let n = 0; n < 300; n++) edges[n % 4]!.next(1, `203.0.113.${n % 250}`, 1)
  for (const { next } of edges) expect(next(1, '203.0.113.251', 1)).toBe(4)
  for (const { next } of edges) expect(next(1, '203.0.114.1', 1)).toBe(1)
})
