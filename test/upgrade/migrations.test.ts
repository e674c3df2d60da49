import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type pg from 'pg'
import type { Database } from '../../src/ledger/postgres/connection/database.ts'
import { migrate } from '../../src/ledger/postgres/connection/migrate.ts'
import { startTestLedger, type TestLedger } from '../harness/money-ledger.ts'
import { Playground } from '../harness/playground.ts'
import { landedNote, migrationsIn, ROOT, unpackLanded } from './landed.ts'
import { complaints, playDay, statementsIn } from './landed-day.ts'
import { MADE_UP, offences, RULES } from './migration-rules.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let ledger: TestLedger
let landed: string
beforeAll(async () => {
  landed = unpackLanded(playground)
  ledger = await startTestLedger()
  playground.onUndo(() => ledger.stop())
})
afterAll(() => playground.undo())

const own = migrationsIn(ROOT)
const landedNames = new Set(landedNote().migrations)
const fresh = own.filter(({ name }) => !landedNames.has(name))

test('the landed version is there as its note says, and its migrations are as they landed', () => {
  const theirs = migrationsIn(landed)
  expect(theirs.map(({ name }) => name)).toEqual([...landedNote().migrations])
  expect(own.slice(0, theirs.length)).toEqual([...theirs])
  console.log(`  ${fresh.length} since then: ${fresh.map(({ name }) => name).join(', ')}`)
})

/** Statements that a rule finds and that are right, by migration and beginning, with the reason. The day that is played runs on all of them. */
const EXCUSED: readonly (readonly [migration: string, begins: string, why: string])[] = [
  ['0029_holds.sql', 'create trigger order_again before insert on orders', 'refuses nothing; an earlier pay_by'],
  ['0032_line_draws.sql', 'create trigger draw_kept before update on line_draws', 'of a table that is new'],
  ['0032_line_draws.sql', 'create trigger line_sealed before update of', 'refuses nothing; seals the draw of the line'],
]

describe('migrations leave the landed version what it lives on:', () => {
  for (const rule of RULES) {
    test(rule.name, () => {
      const unseen = rule.breaks.filter(text => offences(rule, MADE_UP, text).length === 0)
      const wronged = rule.keeps.filter(text => offences(rule, MADE_UP, text).length > 0)
      expect({ unseen, wronged }).toEqual({ unseen: [], wronged: [] })
      const before = migrationsIn(landed).map(({ text }) => text)
      const found = fresh.flatMap(({ name, text }) =>
        offences(rule, before.join(';\n'), text)
          .filter(one => !EXCUSED.some(([excused, begins]) => excused === name && one.startsWith(begins)))
          .map(one => `${name}: ${one}`),
      )
      expect(found).toEqual([])
    })
  }
})

let databases = 0

/** A day of the landed version, then what is done to its ledger, then the next day over the same connection. */
async function nextDay(
  change: (database: Database, client: pg.Client) => Promise<unknown>,
  afterwards: (client: pg.Client) => Promise<unknown> = async () => {},
) {
  databases += 1
  await ledger.sql(`CREATE DATABASE upgrade_${databases}`)
  const database = ledger.connect(`upgrade_${databases}`)
  const client = await database.connect()
  try {
    await migrate(database, `${landed}/src/ledger/migrations`)
    const statements = statementsIn(landed)
    const first = await playDay(client, statements, 0)
    await change(database, client)
    const second = await playDay(client, statements, 1)
    await afterwards(client)
    return { first, second }
  } finally {
    await client.end()
    await database.close()
  }
}

let usual: ReturnType<typeof nextDay> | undefined
/** The two days on a ledger that no migration changes in between. */
const undisturbed = () => (usual ??= nextDay(async () => {}))

test('the day runs every statement that the landed version has, and none fails', async () => {
  const { first, second } = await undisturbed()
  const run = new Set(first.map(({ statement }) => statement))
  expect([...statementsIn(landed).keys()].filter(name => !run.has(name))).toEqual([])
  expect([...first, ...second].filter(one => typeof one.answer === 'string')).toEqual([])
  // Statements that decide must return rows: an empty answer would agree with every other.
  const empty = first.filter(({ answer: rows }) => rows.length === 0).map(({ statement }) => statement)
  console.log(`  ${first.length} statements a day, ${new Set(empty).size} of them return no row: ${empty.join(' ')}`)
  for (const name of [
    'place',
    'place_directly',
    'refuse_order',
    'close_orders',
    'capture',
    'refund_order',
    'settle_change',
  ])
    expect(empty).not.toContain(name)
})

test('after this version’s migrations the landed version gets the answers it got before', async () => {
  const { second } = await undisturbed()
  const migrated = await nextDay(async database =>
    expect(await migrate(database)).toEqual(fresh.map(({ name }) => name)),
  )
  expect(complaints(second, migrated.second)).toEqual([])
})

/** By type: the orders of the day after the migrations, as their rows tell it, and as the events do. */
const AS_ROWS = `
  SELECT 'order.placed' AS type, id FROM all_orders WHERE id BETWEEN 10000 AND 19999 AND reason IS DISTINCT FROM 'refused'
  UNION ALL SELECT 'order.closed', id FROM all_orders WHERE id BETWEEN 10000 AND 19999 AND reason IN ('unpaid', 'cancelled', 'refused')
  UNION ALL SELECT 'order.paid', id FROM all_orders WHERE id BETWEEN 10000 AND 19999 AND paid_at IS NOT NULL
  UNION ALL SELECT 'order.refunded', id FROM all_orders WHERE id BETWEEN 10000 AND 19999 AND reason = 'refunded'
  ORDER BY 1, 2`
const AS_EVENTS = `SELECT type, unnest(orders) AS id FROM events WHERE type LIKE 'order.%' AND orders[1] BETWEEN 10000 AND 19999 ORDER BY 1, 2`

test('what the landed version changes afterwards is written as events, each once', async () => {
  await nextDay(
    database => migrate(database),
    async client => {
      const rows = async (text: string) => (await client.query<{ type: string; id: string }>(text)).rows
      const expected = await rows(AS_ROWS)
      expect(new Set(expected.map(({ type }) => type)).size).toBe(4)
      expect(await rows(AS_EVENTS)).toEqual(expected)
      const others = await rows(
        `SELECT type, count(*) AS id FROM events WHERE type NOT LIKE 'order.%' GROUP BY 1 ORDER BY 1`,
      )
      expect(others.map(({ type }) => type)).toEqual([
        'item.back',
        'item.sold_out',
        'payment.refund_due',
        'sale.opened',
        'sale.over',
      ])
    },
  )
})

/** A function that decides nothing any more: no rule reads function bodies, only the day shows it. */
const LAZY = `CREATE OR REPLACE FUNCTION settle_change(p_item bigint, p_no int, p_epoch bigint, p_taken int) RETURNS boolean
  LANGUAGE sql AS $$ SELECT true $$`

describe('a migration that would break it is caught:', () => {
  const MADE_UP_BREAKS: readonly (readonly [sql: string, firstHurt: string])[] = [
    ['ALTER TABLE orders DROP COLUMN reserved_at CASCADE', 'snapshot_page'],
    ['ALTER TABLE items RENAME COLUMN available TO remaining', 'create_sale'],
    ['ALTER TABLE stock_changes ALTER COLUMN taken TYPE bigint', 'find_change'],
    ['DROP TABLE dead_letters', 'write_dead_letter'],
    ['DROP FUNCTION refuse_order', 'refuse_order'],
    [
      'ALTER TABLE nodes ADD COLUMN words int NOT NULL DEFAULT 1; ALTER TABLE nodes ALTER words DROP DEFAULT',
      'lease_node',
    ],
    ['ALTER TABLE items ADD CONSTRAINT small CHECK (units < 5) NOT VALID', 'create_sale'],
    ['DROP INDEX payments_one_open', 'start_payment'],
    ['ALTER FUNCTION capture RENAME TO capture_money', 'capture'],
    [LAZY, 'ask_change'],
  ]
  for (const [sql, firstHurt] of MADE_UP_BREAKS) {
    test(sql.replace(/\s+/g, ' ').slice(0, 90), async () => {
      const { second } = await undisturbed()
      const broken = await nextDay((_, client) => client.query(sql))
      const found = complaints(second, broken.second)
      expect(found.length).toBeGreaterThan(0)
      expect(found.map(one => one.split(':')[0])).toContain(firstHurt)
      // Every other break is found by the rules as well, from the text alone.
      const before = migrationsIn(landed).map(({ text }) => text)
      const read = RULES.flatMap(rule => offences(rule, before.join(';\n'), sql))
      expect(read.length > 0).toBe(sql !== LAZY)
    })
  }
})
