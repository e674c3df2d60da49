import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneLiveOrder } from '../../src/domain/promises/one-live-order.ts'
import type { OrderFacts } from '../../src/domain/promises/snapshot.ts'
import { createArchive } from '../../src/ledger/postgres/archive.ts'
import { TROUBLE_CODES } from '../../src/wire/monitor-codes.ts'
import { en } from '../../web/ops/words/en.ts'
import { ledgerForFile } from '../harness/flow-stage.ts'
import { readYaml } from '../harness/yaml.ts'
import { commandIsKnown, DEPLOY, ROOT, unknownSettings } from './shipped.ts'

setDefaultTimeout(300_000)

const text = (path: string) => readFileSync(join(ROOT, 'docs', path), 'utf8')
const page = text('operating.md')

const ledger = ledgerForFile()

test('every kind of alarm has its line', () => {
  const kinds = /`stampede_alarms_total` \| counter \| `kind`: ([^|]*)\|/.exec(text('reference/metrics.md'))?.[1] ?? ''
  const named = Array.from(kinds.matchAll(/`(\w+)`/g), match => match[1])
  expect(named.length).toBeGreaterThanOrEqual(9)
  for (const kind of named) expect(page).toContain(`\n| \`${kind}\` | `)
})

test('whatever /ops calls trouble leads to an entry of the runbook, in its own words, and nothing else does', () => {
  const codes: readonly string[] = TROUBLE_CODES
  expect(codes.length).toBeGreaterThanOrEqual(10)
  const table = /\n\| code \| `\/ops` says \| entry \|\n\|[-|]+\n((?:\|.*\n)+)/.exec(page)?.[1] ?? ''
  const rows = Array.from(
    table.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm),
    ([, code = '', says = '', entry = '']) => ({
      code,
      says,
      entry,
    }),
  )
  // The last one is what the page finds by itself.
  expect(rows.map(({ code }) => code).sort()).toEqual([...codes, 'unreachable'].sort())
  for (const { code, says, entry } of rows) {
    expect(says).toBe(en.trouble[code as keyof typeof en.trouble].title('N', 'N'))
    const leadsTo = Array.from(entry.matchAll(/(the alarm )?`([^`]+)`/g))
    expect(leadsTo).not.toEqual([])
    for (const [, alarm, name] of leadsTo) expect(page).toContain(alarm ? `\n| \`${name}\` | ` : `\n### \`${name}\`\n`)
  }
})

test('it names no metric, setting or command that is not there', () => {
  const metrics = text('reference/metrics.md')
  for (const [, name = ''] of page.matchAll(/\b(stampede_\w+?)(?:_bucket)?\b(?=[^\w])/g))
    expect(metrics).toContain(`\`${name}\``)
  const spoken = Array.from(page.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g), match => match[1] ?? '')
  expect(spoken.length).toBeGreaterThan(5)
  expect(unknownSettings(spoken)).toEqual([])
  const commands = new Set(
    Array.from(page.matchAll(/`stampede ((?:sale |page )?[a-z]+)\b/g), match => match[1] ?? '').filter(
      words => words !== 'sale',
    ),
  )
  expect(commands.size).toBeGreaterThan(8)
  for (const words of commands) commandIsKnown(words.split(' '))
})

test('how many items a keeper rebuilds at once is what the code says', () => {
  const most = (file: string, name: string) => {
    const source = readFileSync(join(ROOT, file), 'utf8')
    return Number(new RegExp(`^const ${name} = ([\\d_]+)$`, 'm').exec(source)?.[1]?.replace('_', ''))
  }
  const told =
    /rebuilds up to ([\d,]+) items at\s+once, and loads (\d+) at a time \(.* more than (\d+) orders by itself, (\d+) at a time\)/.exec(
      text('clustering.md'),
    )
  expect(told?.slice(1).map(figure => Number(figure.replace(',', '')))).toEqual([
    most('src/flows/keep/gate-controller.ts', 'TASKS_MAX'),
    most('src/ledger/postgres/snapshots-together.ts', 'ITEMS_MAX'),
    most('src/ledger/postgres/snapshots-together.ts', 'ORDERS_MAX'),
    most('src/ledger/postgres/rights.ts', 'SNAPSHOTS_AT_ONCE_MAX'),
  ])
})

test('docs/testing.md names every test of a cluster and of what is installed', () => {
  const told = text('testing.md')
  for (const folder of ['test/cluster', 'test/deploy']) {
    const tests = readdirSync(join(ROOT, folder)).filter(name => /(?<!\.long)\.test\.ts$/.test(name))
    expect(tests.length).toBeGreaterThan(5)
    for (const name of tests) expect(told).toContain(`\`${folder}/${name}\``)
  }
})

test('the command is called where it is: in services, Deployments and with words that there are', () => {
  const [{ services }] = readYaml(join(DEPLOY, 'compose/compose.yaml')) as [{ services: Record<string, unknown> }]
  const deployment = readdirSync(join(DEPLOY, 'kubernetes'))
    .filter(name => name.endsWith('.yaml'))
    .flatMap(name => readYaml(join(DEPLOY, 'kubernetes', name)) as { kind: string; metadata: { name: string } }[])
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata }) => metadata.name)
  const calls = [
    ...page.matchAll(/docker compose -f (?<file>\S+) exec (?<service>[\w-]+) stampede (?<word>\w+)/g),
    ...page.matchAll(/docker compose -f (?<file>\S+) run [-\w ]*?(?<service>[\w-]+) (?<word>\w+)`/g),
    ...page.matchAll(/kubectl -n stampede exec deploy\/(?<deployment>[\w-]+) -- stampede (?<word>\w+)/g),
    ...page.matchAll(/npx stampede (?<word>\w+)/g),
  ].map(match => match.groups ?? {})
  expect(calls.length).toBeGreaterThanOrEqual(5)
  for (const { file, service, deployment: name, word = '' } of calls) {
    if (file !== undefined) expect(file).toBe('deploy/compose/compose.yaml')
    if (service !== undefined) expect(Object.keys(services)).toContain(service)
    if (name !== undefined) expect(deployment).toContain(name)
    commandIsKnown([word])
  }
})

/** The statements between two marks of the page, for this buyer or payment, as psql would put it in. */
function statements(mark: string, { buyer = '', payment = '', provider = '' } = {}): string[] {
  const block = new RegExp(`<!-- ${mark}:[^>]*-->\n\`\`\`sql\n([^\`]*)\`\`\``).exec(page)?.[1] ?? ''
  expect(block).not.toBe('')
  return block
    .replaceAll(":'buyer'", `'${buyer}'`)
    .replaceAll(":'payment'", `'${payment}'`)
    .replaceAll(":'provider'", `'${provider}'`)
    .split(/;\n/)
    .filter(one => one.trim() !== '')
}

const settle = async (sale: string, item: string) => {
  await ledger.sql(`UPDATE orders SET state = 'paid', paid_at = now(), version = version + 1 WHERE item = $1`, [item])
  await ledger.sql(`UPDATE items SET door = 'shut' WHERE id = $1`, [item])
  await ledger.sql(`INSERT INTO reconciliations (sale, final, differences, repairs) VALUES ($1, true, '[]', '[]')`, [
    sale,
  ])
}
const buyersOf = async (item: string) =>
  (await ledger.sql('SELECT buyer FROM orders WHERE item = $1 ORDER BY id', [item])).map(row => row.buyer as string)

async function soldTo(...buyers: string[]) {
  const liveItem = await ledger.openItem()
  const asks = buyers.map(buyer => ledger.ask(buyer))
  await ledger.orders.place(liveItem.item, liveItem.epoch, false, asks)
  return { ...liveItem, orders: asks.map(ask => ask.order) }
}

/** What a reconciliation writes down of a buyer, in the very words of the code; beside others, and what is of no buyer. */
const found = [
  ...['ada', 'adam', 'bob'].flatMap(buyer => {
    const order = { item: '7', buyer, attempt: 1, quantity: 1, state: 'pending' } as OrderFacts
    const orders = [
      { ...order, id: '1' },
      { ...order, id: '2' },
    ]
    const nothing = { quiet: true, items: [], told: [], payments: [], bounds: [] }
    return [...oneLiveOrder({ ...nothing, orders, refusals: { refusedAtEdge: 0, networkCalls: 0 } })]
  }),
  { kind: 'count', item: '7', gateLeft: 1, gateHeld: 2 },
]
const reportOf = async (sale: string) =>
  (await ledger.sql('SELECT differences FROM reconciliations WHERE sale = $1 AND NOT final', [sale]))[0]?.differences

test('refunds that a shop has not reported are shown, the longest due first', async () => {
  const { item, orders } = await soldTo('hal', 'ida', 'jan')
  const add = (order: string | undefined, provider: string, state: string, days: number) =>
    ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, next_try_at)
        VALUES ($1, $2, $3, $4, $5, 1, 'CNY', $6, now() - $7 * interval '1 day')`,
      [ledger.id(), order, item, provider, `${provider} ${days}`, state, days],
    )
  await add(orders[0], 'shop', 'refund_due', 1)
  await add(orders[1], 'shop', 'refund_due', 3)
  await add(orders[2], 'shop', 'captured', 5)
  await add(orders[2], 'sandbox', 'refund_due', 7)
  const rows = await ledger.sql(statements('unconfirmed')[0] ?? '')
  expect(rows.filter(row => orders.includes(row.order_id as string)).map(row => row.ref)).toEqual(['shop 3', 'shop 1'])
})

test('refunds that are due are shown, the most tried first, and one is ended by hand, if it is due', async () => {
  const { item, orders } = await soldTo('eve', 'finn', 'gus')
  const pay = async (order: string | undefined, state: string, tries: number) => {
    const id = ledger.id()
    await ledger.sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, tries)
        VALUES ($1, $2, $3, 'sandbox', $6, 1, 'CNY', $4, $5)`,
      [id, order, item, state, tries, `of ${id}`],
    )
    return id
  }
  const [fresh, stuck, kept] = [
    await pay(orders[0], 'refund_due', 0),
    await pay(orders[1], 'refund_due', 9),
    await pay(orders[2], 'captured', 0),
  ]
  const due = async () =>
    (await ledger.sql(statements('refunds')[0] ?? ''))
      .filter(row => orders.includes(row.order_id as string))
      .map(row => row.id)
  expect(await due()).toEqual([stuck, fresh])
  for (const payment of [stuck, kept])
    for (const one of statements('refund-by-hand', { payment })) await ledger.sql(one)
  expect(await due()).toEqual([fresh])
  const after = await ledger.sql('SELECT id, state, refunded_at IS NOT NULL AS dated FROM payments WHERE item = $1', [
    item,
  ])
  expect(after.find(row => row.id === stuck)).toMatchObject({ state: 'refunded', dated: true })
  expect(after.find(row => row.id === kept)).toMatchObject({ state: 'captured', dated: false })
})

test('open payments of a provider that is gone are shown, and each is ended by hand', async () => {
  const { item, orders } = await soldTo('hana', 'ivo', 'jo')
  const states = ['started', 'refund_due', 'captured']
  const payments = states.map(() => ledger.id())
  await ledger.sql(
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
      SELECT id, order_id, $4, 'formerpay', 'of ' || id, 1, 'CNY', state FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS one (id, order_id, state)`,
    [payments, orders, states, item],
  )
  const open = async () =>
    (await ledger.sql(statements('unconfigured', { provider: 'formerpay' })[0] ?? '')).map(row => row.id)
  expect(await open()).toEqual(payments.slice(0, 2))
  for (const payment of payments)
    for (const one of statements('unconfigured-by-hand', { payment })) await ledger.sql(one)
  expect(await open()).toEqual([])
  const after = await ledger.sql(
    'SELECT state, refunded_at IS NOT NULL AS dated FROM payments WHERE item = $1 ORDER BY id',
    [item],
  )
  expect(after.map(row => `${row.state} ${row.dated}`)).toEqual(['void false', 'refunded true', 'captured false'])
})

test('a buyer is erased from settled sales, from nowhere else, and the books still add up', async () => {
  const settled = await soldTo('ada', 'bob')
  await settle(settled.sale, settled.item)
  const running = await soldTo('ada', 'bob')
  const interrupted = await soldTo('ada')
  await ledger.sql(`UPDATE items SET door = 'shut' WHERE id = $1`, [interrupted.item])
  const inTheGate = await soldTo('ada')
  await settle(inTheGate.sale, inTheGate.item)
  await ledger.sql(`UPDATE items SET door = 'gate' WHERE id = $1`, [inTheGate.item])
  const refunding = await soldTo('ada')
  await settle(refunding.sale, refunding.item)
  await ledger.sql(
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state) VALUES ($1, $2, $3, 'sandbox', 'due', 1, 'CNY', 'refund_due')`,
    [ledger.id(), refunding.orders[0], refunding.item],
  )
  await ledger.sql(
    `INSERT INTO dead_letters (item, epoch, entry, raw, why) VALUES ($1, 1, 'a', '{"buyer":"ada"}', 'x'), ($1, 1, 'b', '{"buyer":"adam"}', 'x')`,
    [settled.item],
  )
  for (const { sale } of [settled, running, interrupted, inTheGate])
    await ledger.sql(`INSERT INTO reconciliations (sale, differences, repairs) VALUES ($1, $2, '[]')`, [
      sale,
      JSON.stringify(found),
    ])
  for (const { item } of [running, interrupted, inTheGate])
    await ledger.sql(
      `INSERT INTO dead_letters (item, epoch, entry, raw, why) VALUES ($1, 1, 'kept', '{"buyer":"ada"}', 'x')`,
      [item],
    )
  const before = await ledger.units(settled.sale)
  for (let again = 0; again < 2; again++) await createArchive(ledger.database, true).erase('ada', 'test', false)
  expect(await buyersOf(settled.item)).toEqual([`erased:${settled.orders[0]}`, 'bob'])
  expect(await buyersOf(running.item)).toEqual(['ada', 'bob'])
  for (const { item } of [interrupted, inTheGate, refunding]) expect(await buyersOf(item)).toEqual(['ada'])
  const letters = await ledger.sql('SELECT entry FROM dead_letters ORDER BY entry')
  expect(letters.map(row => row.entry)).toEqual(['b', 'kept', 'kept', 'kept'])
  expect(await reportOf(settled.sale)).toEqual(
    found.map(one =>
      'message' in one ? { ...one, message: one.message.replace(/^buyer ada has/, 'buyer erased has') } : one,
    ),
  )
  expect(JSON.stringify(await reportOf(settled.sale))).not.toMatch(/\bada\b/)
  for (const { sale } of [running, interrupted, inTheGate]) expect(await reportOf(sale)).toEqual(found)
  expect(await ledger.units(settled.sale)).toEqual(before)
})

test('everybody is erased from settled sales that are old, and nobody from younger ones', async () => {
  const [old, young] = [await soldTo('carl', 'dora'), await soldTo('carl')]
  for (const { sale, item } of [old, young]) await settle(sale, item)
  const ago = `opens_at = clock_timestamp() - interval '26 months', closes_at = clock_timestamp() - interval '25 months'`
  await ledger.sql(`UPDATE sales SET ${ago} WHERE id = $1`, [old.sale])
  for (const one of statements('expire')) await ledger.sql(one)
  expect(await buyersOf(old.item)).toEqual(old.orders.map(order => `erased:${order}`))
  expect(await buyersOf(young.item)).toEqual(['carl'])
})

test('every table that holds a buyer is on the page', async () => {
  const rows = await ledger.sql(
    `SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'buyer' AND table_name !~ '_[0-9]+$'
      AND table_name NOT IN (SELECT table_name FROM information_schema.views)`,
  )
  expect(rows.length).toBeGreaterThanOrEqual(2)
  for (const { table_name } of rows) expect(page).toContain(`| \`${table_name}.buyer\` |`)
})
