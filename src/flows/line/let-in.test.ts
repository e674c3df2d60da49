/** Lines on a real ledger, followed by several processes: who is let in when two lead, what a long pause does to those who came too late, and a line that is broken beside one that is not. */

import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createKeyedHash } from '../../admission/rate/keyed-hash.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { createLineDraws } from '../../ledger/postgres/line/line-draws.ts'
import { createLines } from '../../ledger/postgres/line/lines.ts'
import { createSales } from '../../ledger/postgres/sales.ts'
import { FollowedLines, type SaleWithLine } from './followed-lines.ts'
import { LetIn } from './let-in.ts'

setDefaultTimeout(120_000)

const ledger = ledgerForFile()
const CLAIM_MS = 60_000
const UNITS = 5
let nowMs = Date.now()

/** What one process has. */
function openProcess() {
  const lines = createLines(ledger.database)
  const draws = createLineDraws(ledger.database)
  const makeHash = () => createKeyedHash(systemRandom)
  const followedLines = new FollowedLines({ lines, draws, random: systemRandom, makeHash, nowMs: () => nowMs })
  const listeners: { orderChanged(order: never): void }[] = []
  let elapsedMs = 0
  const registry = new Map<string, unknown>()
  const letIn = new LetIn({
    followedLines,
    lines,
    sales: createSales(ledger.database),
    registry: registry as never,
    messages: { listen: (listener: never) => void listeners.push(listener) } as never,
    clock: { elapsed: () => elapsedMs } as never,
    nowMs: () => nowMs,
  })
  return {
    followedLines,
    letIn,
    passMs: (ms: number) => {
      elapsedMs += ms
    },
    sell(sale: SaleWithLine, left: number) {
      const item = { id: sale.items[0]!.id, sale, queue: { depth: () => 0 }, seller: { left: () => left } }
      registry.set(item.id, item)
    },
    ordered: (sale: string) => {
      for (const listener of listeners) listener.orderChanged({ sale, state: 'pending', version: 1 } as never)
    },
  }
}

type Process = ReturnType<typeof openProcess>

async function openLine(claimWithinMs = CLAIM_MS): Promise<SaleWithLine> {
  const { sale: id, item } = await ledger.openItem()
  nowMs = Date.now()
  return {
    id,
    state: 'ready',
    opensAtMs: nowMs - 1_000,
    closesAtMs: nowMs + 36_000_000,
    items: [{ id: item }],
    line: { opensAtMs: nowMs - 2_000, order: 'arrival', rate: 'auto', claimWithinMs },
  } as unknown as SaleWithLine
}

async function join({ followedLines }: Process, sale: SaleWithLine, names: readonly string[]): Promise<void> {
  const line = await followedLines.of(sale)
  await Promise.all(names.map(buyer => followedLines.ask(line, { kind: 'join', buyer, instead: 0 })))
}

const crowd = (count: number) => Array.from({ length: count }, (_, i) => `buyer-${i}`)
const markOf = async (sale: SaleWithLine) => (await createLines(ledger.database).statuses([sale.id]))[0]!.letIn

beforeAll(() => {
  nowMs = Date.now()
})

test('two that lead in turns, or at once, let no more people in than there are units for', async () => {
  const seed = 20_261_119
  const random = seededRandom(seed)
  const sale = await openLine()
  const [one, two] = [openProcess(), openProcess()]
  for (const each of [one, two]) each.sell(sale, UNITS)
  await join(one, sale, crowd(40))
  // Both have let people in before, and nobody has ordered yet.
  for (let round = 0; round < 20; round++) {
    for (const each of [one, two]) each.passMs(20)
    const roll = random.next()
    if (roll < 0.35) await one.letIn.round()
    else if (roll < 0.7) await two.letIn.round()
    else await Promise.all([one.letIn.round(), two.letIn.round()])
    expect([seed, round, await markOf(sale)]).toEqual([seed, round, Math.min(UNITS, await markOf(sale))])
  }
  expect(await markOf(sale)).toBe(UNITS)
})

test('who came too late is not let in again by the next who is, however long after', async () => {
  const sale = await openLine()
  const process = openProcess()
  await join(process, sale, crowd(4))
  process.sell(sale, 2)
  process.passMs(1_000)
  await process.letIn.round()
  process.passMs(1_000)
  await process.letIn.round()
  const { book } = await process.followedLines.of(sale)
  expect(book.letIn).toBe(2)
  const firstMs = book.letInAtMs(2)!
  // Longer ago than any time to claim that is remembered.
  await ledger.sql(`UPDATE line_steps SET at = at - interval '1 hour' WHERE sale = ${sale.id}`)
  for (const step of book.steps) Object.assign(step, { atMs: step.atMs - 3_600_000 })
  process.sell(sale, 1)
  for (let round = 0; round < 3; round++) {
    process.passMs(CLAIM_MS + 1)
    await process.letIn.round()
  }
  expect(book.letIn).toBeGreaterThan(2)
  const fresh = await openProcess().followedLines.of(sale)
  for (const { book: each } of [{ book }, fresh]) {
    expect(each.letInAtMs(2)!).toBeLessThanOrEqual(firstMs - 3_600_000)
    expect(each.letInAtMs(3)!).toBeGreaterThanOrEqual(firstMs)
  }
})

test('steps do not pile up: of those that no claim depends on, one stays', async () => {
  const sale = await openLine()
  const process = openProcess()
  await join(process, sale, crowd(30))
  process.sell(sale, 1_000)
  for (let round = 0; round < 10; round++) {
    process.passMs(20)
    await process.letIn.round()
    await ledger.sql(`UPDATE line_steps SET at = at - interval '1 hour' WHERE sale = ${sale.id}`)
  }
  const [row] = await ledger.sql(`SELECT count(*)::int AS n FROM line_steps WHERE sale = ${sale.id}`)
  expect(row!.n).toBe(2)
})

test('a line whose rows are damaged does not hold up the others, and is not quiet about it', async () => {
  const [one, two] = [openProcess(), openProcess()]
  const broken = await openLine()
  const well = await openLine()
  for (const sale of [broken, well]) await join(one, sale, crowd(3))
  for (const sale of [broken, well]) await two.followedLines.of(sale)
  for (const sale of [broken, well]) await join(one, sale, ['more-1', 'more-2'])
  await ledger.sql(`DELETE FROM line_joins WHERE sale = ${broken.id} AND number = 4`)
  await expect(two.followedLines.round()).rejects.toThrow('is missing')
  expect((await two.followedLines.of(well)).book.numbers).toBe(5)
  for (const sale of [broken, well]) two.sell(sale, 2)
  two.passMs(1_000)
  await expect(two.letIn.round()).rejects.toThrow('is missing')
  two.passMs(1_000)
  await expect(two.letIn.round()).rejects.toThrow('is missing')
  expect(await markOf(well)).toBe(2)
})
