/** Joining, on a real ledger: what it costs, and that a process that does not know a buyer yet gives no second number. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createKeyedHash } from '../../admission/rate/keyed-hash.ts'
import { systemRandom } from '../../base/random.ts'
import { createLineDraws } from '../../ledger/postgres/line/line-draws.ts'
import { createLines } from '../../ledger/postgres/line/lines.ts'
import { FollowedLines, type SaleWithLine } from './followed-lines.ts'
import { type JoinLineContext, joinLine } from './join-line.ts'

setDefaultTimeout(120_000)

const ledger = ledgerForFile()
const CLAIM_MS = 60_000
let nowMs = Date.now()

/** What one process has, and how often it has asked the ledger for the numbers of buyers. */
function openProcess() {
  const lines = createLines(ledger.database)
  let asked = 0
  const counted: typeof lines = {
    ...lines,
    numbersOf: (sale, buyers) => {
      asked += 1
      return lines.numbersOf(sale, buyers)
    },
  }
  const followedLines = new FollowedLines({
    lines: counted,
    draws: createLineDraws(ledger.database),
    random: systemRandom,
    makeHash: () => createKeyedHash(systemRandom),
    nowMs: () => nowMs,
  })
  const context = {
    followedLines,
    registry: new Map(),
    finder: { ofBuyer: async () => [] },
    nowMs: () => nowMs,
  } as unknown as JoinLineContext
  return { context, followedLines, asked: () => asked }
}

async function openLine(): Promise<SaleWithLine> {
  const { sale: id, item } = await ledger.openItem()
  nowMs = Date.now()
  return {
    id,
    state: 'ready',
    opensAtMs: nowMs - 1_000,
    closesAtMs: nowMs + 36_000_000,
    items: [{ id: item }],
    line: { opensAtMs: nowMs - 2_000, order: 'arrival', rate: 'auto', claimWithinMs: CLAIM_MS },
  } as unknown as SaleWithLine
}

const welcome = async () => undefined
const crowd = Array.from({ length: 200 }, (_, i) => `buyer-${i}`)

test('nothing is read of the ledger before a join is written, and a process that is behind gives the same numbers', async () => {
  const sale = await openLine()
  const [one, two] = [openProcess(), openProcess()]
  await two.followedLines.of(sale)
  const joins = await Promise.all(crowd.map(buyer => joinLine(one.context, sale, buyer, welcome)))
  expect(joins.map(({ kind }) => kind)).toEqual(crowd.map(() => 'joined'))
  expect(one.asked()).toBe(0)
  const again = await Promise.all(crowd.map(buyer => joinLine(two.context, sale, buyer, welcome)))
  expect(again.map(join => [join.kind, 'facts' in join && join.facts.number])).toEqual(
    joins.map(join => ['same', 'facts' in join && join.facts.number]),
  )
  expect(two.asked()).toBe(0)
  const { book } = await two.followedLines.of(sale)
  expect(crowd.map((_, i) => book.headOf(i + 1) !== undefined)).toEqual(crowd.map(() => true))
})

test('who is in line hears the place from a process that is behind, also where the line would refuse to take him now', async () => {
  const sale = await openLine()
  const [one, two] = [openProcess(), openProcess()]
  await two.followedLines.of(sale)
  await joinLine(one.context, sale, 'ann', welcome)
  const refuse = async () => 'no'
  expect(await joinLine(two.context, sale, 'ann', refuse)).toMatchObject({ kind: 'same', facts: { number: 1 } })
  expect(await joinLine(two.context, sale, 'bob', refuse)).toEqual({ kind: 'refused', why: 'no' })
  const over = { ...sale, state: 'over' } as SaleWithLine
  expect(await joinLine(openProcess().context, over, 'ann', welcome)).toMatchObject({ kind: 'same' })
  expect(await joinLine(two.context, over, 'cid', welcome)).toEqual({ kind: 'over' })
})

test('who came too late gets one new last number, also from a process that does not know of the first', async () => {
  const sale = await openLine()
  const [one, two] = [openProcess(), openProcess()]
  await joinLine(one.context, sale, 'ann', welcome)
  await createLines(ledger.database).letIn(sale.id, 0, 1, 600_000)
  await two.followedLines.of(sale)
  await joinLine(one.context, sale, 'bob', welcome)
  await createLines(ledger.database).letIn(sale.id, 1, 2, 600_000)
  nowMs += CLAIM_MS + 60_000
  const both = await Promise.all([1, 2, 3].map(() => joinLine(two.context, sale, 'bob', welcome)))
  expect(both.map(join => [join.kind, 'facts' in join && join.facts.number])).toEqual([
    ['same', 3],
    ['same', 3],
    ['same', 3],
  ])
})
