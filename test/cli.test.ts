/** The command line against a real server: what a person and a script see, and one clear line for everything that is in the way. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SignJWT } from 'jose'
import type { OperatorSaleAnswer } from '../src/wire/answers.ts'
import { type HeardOut, listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

/** Processes are started one after the other, by the dozen: on a busy machine that takes its time, and is no fault. */
setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '..')
const playground = new Playground()
let server: Stampede
let shop: Shop
let scratch: string

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'stampede-cli-'))
  chmodSync(scratch, 0o755)
  playground.onUndo(() => rmSync(scratch, { recursive: true, force: true }))
  server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  shop = new Shop(() => server.url())
})
afterAll(() => playground.undo())

/** The command in a process of its own, with nothing in the environment but what is given. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<HeardOut> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: join(scratch, 'nothing'), ...env },
  })
  child.stdin.end(input)
  return listenTo(child).ran
}

/** Against the running server, as an operator. */
const ask = (...args: string[]) => run(args, { STAMPEDE_SERVER: server.url(), STAMPEDE_TOKEN: ADMIN_TOKEN })

async function json<T>(...args: string[]): Promise<T> {
  const { code, out, err } = await ask(...args, '--json')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`)
  return JSON.parse(out)
}

interface Sale {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly items: readonly { readonly id: string; readonly units: number; readonly left: number }[]
}

/** A command that must fail: with this code, nothing on standard output, and one line that holds these words. */
function expectFailure({ code, out, err }: HeardOut, wanted: 1 | 2, words: string): void {
  expect({ code, out, lines: err.trim().split('\n').length, err }).toEqual({
    code: wanted,
    out: '',
    lines: 1,
    err: expect.stringContaining(words),
  })
}

const FLAGS = ['--units', '5', '--price', '19900', '--currency', 'EUR', '--opens-at', 'now', '--closes-at', '+1h']

test('a sale is made, put on sale, watched, changed and ended from the command line', async () => {
  const made = await json<Sale>('sale', 'create', '--name', '水壶 🫖', ...FLAGS, '--sku', 'K-1', '--pay-within', '600')
  expect(made).toMatchObject({
    name: '水壶 🫖',
    state: 'draft',
    items: [{ sku: 'K-1', units: 5, payWithinSeconds: 600 }],
  })
  const [item] = made.items
  expect(await json<Sale>('sale', 'publish', made.id)).toMatchObject({ state: 'open' })
  const ticket = await shop.ticket('ann', made.id, item!.id)
  const { answer } = await shop.order(ticket, 1)
  if (answer.kind !== 'placed') throw new Error(`not placed: ${answer.kind}`)

  const list = await ask('sale', 'list')
  const line = list.out.split('\n').find(one => one.includes(made.id))!
  expect(line).toMatch(/\bopen\b.*\b4 +5 +水壶 🫖$/)
  const show = (await ask('sale', 'show', made.id)).out
  expect(show).toContain('199.00 EUR')
  expect((await ask('sale', 'orders', made.id)).out).toMatch(
    new RegExp(`${answer.order.id} +pending +1 +199.00 EUR .*ann`),
  )
  const csv = (await ask('sale', 'orders', made.id, '--csv')).out.trim().split('\n')
  expect(csv).toHaveLength(2)
  expect(csv[1]).toContain(answer.order.id)
  const sheet = await ask('sale', 'orders', made.id, '--sheet', '--zone', 'Asia/Shanghai', '--language', 'zh')
  expect(sheet.out).toStartWith('\ufeff订单,')
  expect(sheet.out.trim().split('\n')[1]).toContain(`"=""${answer.order.id}"""`)
  expect(await json<{ orders: unknown[] }>('sale', 'orders', made.id, '--state', 'paid')).toMatchObject({ orders: [] })

  expect((await ask('order', 'list', '--q', answer.order.id)).out).toMatch(
    new RegExp(`${answer.order.id} +pending +1 .*ann\\n1 of 1\\n`),
  )
  expect(await json<object>('order', 'list', '--sale', made.id, '--state', 'pending')).toMatchObject({
    orders: [{ id: answer.order.id, buyer: 'ann' }],
    next: null,
    total: 1,
    totalIsExact: true,
  })
  const changed = ['order', 'list', '--updated-after', '2026-01-01T00:00:00Z', '--sale', made.id]
  await until('the change is listed', async () =>
    (await json<{ orders: { id: string; updatedAt?: string }[] }>(...changed)).orders.some(
      one => one.id === answer.order.id && one.updatedAt !== undefined,
    ),
  )
  expectFailure(await ask('order', 'list', '--updated-after', 'yesterday'), 1, 'updatedAfter')

  expect(await json('sale', 'stock', made.id, '--delta', '-10', '--reason', 'lent')).toMatchObject({
    taken: -4,
    shortfall: 6,
  })
  const again = ['sale', 'stock', made.id, '--delta', '20', '--reason', 'found', '--key', 'once', '--item', item!.id]
  await json(...again)
  expect(await json(...again)).toMatchObject({ taken: 20 })
  for (const [move, state] of [
    ['pause', 'paused'],
    ['resume', 'open'],
    ['warm', 'open'],
  ] as const)
    expect(await json<Sale>('sale', move, made.id)).toMatchObject({ state })
  const audit = await ask('sale', 'audit', made.id)
  expect(audit.code).toBe(0)
  expect(audit.out).toMatch(new RegExp(`${item!.id} +21 +20 +1 +0 .* yes`))
  expect((await ask('reconcile', made.id)).out).toBe(`sale ${made.id}: all is well\n`)
  expect((await ask('reconcile')).out).toContain(`sale ${made.id}: all is well`)

  expect((await ask('order', 'show', answer.order.id)).out).toMatch(/state +pending[\s\S]*placed/)
  expect((await ask('explain', answer.order.id)).out).toMatch(
    /state +pending[\s\S]*asked[\s\S]*reserved[\s\S]*placed +ledger/,
  )
  expectFailure(await ask('explain', '4711'), 1, 'There is no such order')
  expectFailure(await ask('order', 'refund', answer.order.id), 1, 'not paid')
  expect(await json<object>('order', 'cancel', answer.order.id)).toMatchObject({ state: 'closed', reason: 'cancelled' })
  expect((await ask('sale', 'end', made.id)).out).toMatch(/state +over/)
  expectFailure(await ask('sale', 'resume', made.id), 1, 'not_changeable')
})

test('a paid order is refunded from the command line', async () => {
  const sale = await json<Sale>('sale', 'create', '--name', 'paid', ...FLAGS, '--publish')
  const ticket = await shop.ticket('bob', sale.id, sale.items[0]!.id)
  const { answer } = await shop.order(ticket, 1)
  if (answer.kind !== 'placed') throw new Error(`not placed: ${answer.kind}`)
  const { id } = answer.order
  const token = await new SignJWT({ sub: 'bob' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
  const started = await fetch(`${server.url()}/api/orders/${id}/payment`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  const { payUrl } = (await started.json()) as { payUrl: string }
  await fetch(`${payUrl}/approve`, { method: 'POST' })
  await until('the order is paid', async () => (await json<{ state: string }>('order', 'show', id)).state === 'paid')
  expectFailure(await ask('order', 'cancel', id), 1, 'order_paid')
  const part = ['order', 'refund', id, '--amount', '0.01', '--reason', 'a scratch', '--key', 'once']
  for (let i = 0; i < 2; i++) expect(await json<object>(...part)).toMatchObject({ state: 'paid' })
  const shown = (await ask('order', 'show', id)).out
  expect(shown.match(/order\.refund_part +admin +.*0\.01.* +a scratch/g), 'the same key is the same part').toHaveLength(
    1,
  )
  expect((await ask('payments', 'report')).out).toMatch(/DAY \(UTC\)[\s\S]*sandbox +EUR/)
  expect((await ask('payments', 'report', '--csv', '--zone', 'Asia/Shanghai')).out).toContain(
    ',Asia/Shanghai,sandbox,EUR,',
  )
  expectFailure(await ask('payments', 'report', '--from', 'yesterday'), 1, 'must be a day')
  expectFailure(await ask('order', 'refund', id, '--amount', '0.001'), 2, 'not an amount of EUR')
  expectFailure(await ask('order', 'refund', id, '--amount', '100000'), 1, 'can still be refunded')
  const refunded = await json<object>('order', 'refund', id, '--restock')
  expect(refunded).toMatchObject({ state: 'closed', reason: 'refunded' })
  expect((await ask('order', 'show', id)).out).toMatch(/closed\/refunded[\s\S]*sandbox[\s\S]*order\.refund +admin/)
  const { story } = await json<{ story: { what: string }[] }>('explain', id)
  const steps = ['asked', 'reserved', 'placed', 'payment_started', 'payment_captured', 'paid', 'refund_asked']
  expect(story.map(({ what }) => what).slice(0, steps.length)).toEqual(steps)
  expect((await ask('explain', id)).out).toMatch(/refund_asked +admin[\s\S]*closed\/refunded +admin/)
})

test('a sale is made from a file and from standard input, and flags win over the file', async () => {
  const price = { amount: 1, currency: 'CNY' }
  const body = {
    name: 'from a file',
    opensAt: '2099-01-01T00:00:00Z',
    closesAt: '2099-01-02T00:00:00Z',
    items: [
      { name: 'a', units: 1, price },
      { name: 'b', units: 2, price },
    ],
  }
  const file = join(scratch, 'sale.json')
  writeFileSync(file, JSON.stringify(body))
  const made = await json<Sale>('sale', 'create', '--file', file, '--name', 'by flag', '--key', 'k1')
  expect(made).toMatchObject({
    name: 'by flag',
    opensAt: '2099-01-01T00:00:00.000Z',
    items: [{ units: 1 }, { units: 2 }],
  })
  expect((await json<Sale>('sale', 'create', '--file', file, '--name', 'by flag', '--key', 'k1')).id).toBe(made.id)
  const env = { STAMPEDE_SERVER: server.url(), STAMPEDE_TOKEN: ADMIN_TOKEN }
  const piped = await run(['sale', 'create', '--file', '-', '--json'], env, JSON.stringify(body))
  expect(JSON.parse(piped.out)).toMatchObject({ name: 'from a file' })
  expectFailure(await ask('sale', 'stock', made.id, '--delta', '1', '--reason', 'x'), 2, 'the sale has 2 items')

  const flags = '--name x --opens-at +1h --closes-at +2h --units 8 --price 1 --currency EUR'.split(' ')
  const wide = ['--shards', '4', '--door', 'ledger', '--when-gate-down', 'shut']
  expect(await json<Sale>('sale', 'create', ...flags, ...wide)).toMatchObject({
    items: [{ shards: 4, door: 'ledger', whenGateDown: 'shut' }],
  })
  expectFailure(await ask('sale', 'create', ...flags, '--door', 'back'), 1, 'door')
  const drawn = '--line-order draw --line-opens-at +10m --line-rate 50 --line-claim-within 90 --line-beacon drand'
  const drawnSale = await json<OperatorSaleAnswer>(
    'sale',
    'create',
    ...flags,
    ...drawn.split(' '),
    '--line-claim',
    'phone',
  )
  expect(drawnSale).toMatchObject({
    rule: 'draw',
    line: { order: 'draw', rate: 50, claimWithinSeconds: 90, beacon: { source: 'drand' }, claim: 'phone' },
  })
  expect(Date.parse(drawnSale.opensAt) - Date.parse(drawnSale.line!.opensAt)).toBe(50 * 60_000)
  const plain = await json<OperatorSaleAnswer>('sale', 'create', ...flags, '--line-rate', 'auto')
  expect(plain.line).toMatchObject({ order: 'arrival', opensAt: plain.opensAt, rate: 'auto' })
  expectFailure(await ask('sale', 'create', ...flags, '--line-opens-at', '+3h'), 1, 'line.opensAt')

  expectFailure(await ask('sale', 'create', '--file', file, '--units', '3'), 2, 'the items come from the file')
  expectFailure(await ask('sale', 'create', '--file', join(scratch, 'gone.json')), 2, 'gone.json')
  writeFileSync(file, '{"name":')
  expectFailure(await ask('sale', 'create', '--file', file), 2, 'is not JSON')
  writeFileSync(file, '[]')
  expectFailure(await ask('sale', 'create', '--file', file), 2, 'is not a sale')
  writeFileSync(file, JSON.stringify({ ...body, closesAt: body.opensAt }))
  expectFailure(await ask('sale', 'create', '--file', file), 1, '"closesAt"')
})

test('a server that is down, a wrong token, a missing sale and a stranger each get one clear line', async () => {
  const id = '4711'
  const show = (more: readonly string[], env = {}) => run(['sale', 'show', id, ...more], env)
  expectFailure(
    await show(['--server', 'http://127.0.0.1:1', '--token', 'x']),
    1,
    'no server answers on http://127.0.0.1:1',
  )
  expectFailure(await show(['--server', server.url()]), 1, 'needs an operator token')
  expectFailure(
    await show(['--server', server.url(), '--token', 'wrong-but-long-enough']),
    1,
    'does not accept this operator token',
  )
  expectFailure(await show(['--server', 'nonsense']), 2, 'is not the address of a server')
  expectFailure(await ask('sale', 'show', id), 1, 'There is no such sale')
  expectFailure(await ask('sale', 'pause', '../../livez'), 1, 'not_found')
  expectFailure(await ask('order', 'show', id), 1, 'There is no such order')
  const stranger = createServer((_, response) => response.end('<html>hello</html>'))
  await new Promise<void>(listening => stranger.listen(0, '127.0.0.1', listening))
  const { port } = stranger.address() as { port: number }
  expectFailure(await show(['--server', `http://127.0.0.1:${port}`]), 1, 'is not a Stampede server')
  stranger.close()
})

test('arguments that can not be meant are refused with code 2', async () => {
  expectFailure(await ask('sale', 'show'), 2, "missing required argument 'sale'")
  expectFailure(await ask('sale', 'create', '--name', 'x'), 2, '--opens-at is needed')
  expectFailure(await ask('sale', 'create', '--name', 'x', ...FLAGS, '--units', 'many'), 2, '--units')
  expectFailure(await ask('sale', 'create', '--name', 'x', ...FLAGS, '--opens-at', 'soon'), 2, 'is not a time')
  expectFailure(await ask('sale', 'stock', '1', '--delta', '1.5', '--reason', 'x'), 2, '--delta')
  expectFailure(await ask('sale', 'list', '--wrong'), 2, '--wrong')
  expectFailure(await ask('completion', 'tcsh'), 2, 'tcsh')
  expect((await ask('sail')).code).toBe(2)
})

test('bad input to a sale is refused by the server in words, or shown safely', async () => {
  const create = (name: string, ...more: string[]) => ask('sale', 'create', '--name', name, ...FLAGS, ...more)
  expectFailure(await create('x'.repeat(10_000), '--item-name', 'x'), 1, '"name"')
  expectFailure(await create('a\u001b[31mb'), 1, 'control characters')
  expectFailure(await create('x', '--price', '999999999999999'), 1, 'price.amount')
  expectFailure(await create('x', '--closes-at', 'now'), 1, '"closesAt"')
  const script = await create('<script>alert(1)</script> \u202egnp')
  expect(script.code).toBe(0)
  expect(script.out).toContain('<script>alert(1)</script> \ufffdgnp')
})

test('on the same machine the token in the data folder is enough', async () => {
  const dataDir = playground.dataDir()
  const other = await Stampede.start(playground, { dataDir, env: { ADMIN_TOKEN: '' } })
  const port = new URL(other.url()).port
  const listed = await run(['sale', 'list'], { DATA_DIR: dataDir, PORT: port })
  expect({ code: listed.code, out: listed.out }).toEqual({
    code: 0,
    out: 'no sales yet: make one with "stampede sale create"\n',
  })
  await other.stop()
})

test('the doctor finds a healthy server healthy, and says what to do about the rest', async () => {
  interface Report {
    readonly healthy: boolean
    readonly findings: readonly { what: string; state: string; found: string; advice?: string }[]
  }
  const doctor = async (env: Record<string, string>) => {
    const { out } = await run(['doctor', '--json'], { BUYER_JWT_SECRET, ...env })
    const report: Report = JSON.parse(out)
    return { ...report, of: (what: string) => report.findings.find(finding => finding.what === what)! }
  }
  const beside = await doctor({ DATA_DIR: server.dataDir })
  expect(beside.healthy).toBe(true)
  expect(beside.of('PostgreSQL').found).toContain('which is running')
  expect(beside.of('migrations').found).toMatch(/^all \d+ applied$/)
  expect(beside.of('durability').found).toBe('synchronous_commit on, fsync on, full_page_writes on')
  expect(beside.of('clock').state).toBe('good')
  const shown = await run(['doctor'], { DATA_DIR: server.dataDir })
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(/^ok +PostgreSQL /m)

  const fresh = join(scratch, 'fresh')
  const first = await doctor({ DATA_DIR: fresh })
  expect(first.healthy).toBe(true)
  expect(first.of('PostgreSQL').found).toContain('no data yet')
  expect(existsSync(fresh)).toBe(false)

  const open = join(scratch, 'open')
  mkdirSync(open)
  writeFileSync(join(open, 'admin-token'), 'secret', { mode: 0o644 })
  const careless = await doctor({ DATA_DIR: open, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  expect(careless.healthy).toBe(false)
  expect(careless.of('secrets').advice).toContain('chmod 600')
  expect(careless.of('PostgreSQL').advice).toContain('DATABASE_URL')
  const wrong = await run(['doctor'], { PORT: 'many' })
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/^stampede: 1 of \d checks failed\n$/)])
  expect(wrong.out).toMatch(/^BAD +settings +PORT: must be a whole number$/m)
})

test('every command has its help, and the shells offer every command', async () => {
  const completion = (await run(['completion', 'bash'])).out
  const paths = [...completion.matchAll(/^ {4}'([^']*)'\)/gm)].map(match => match[1]!.split(' ').filter(Boolean))
  expect(paths.map(path => path.join(' '))).toContain('sale audit')
  for (const path of paths.filter(one => one.length < 2)) {
    const help = await run([...path, '--help'])
    expect([help.code, help.err, help.out.slice(0, 6)]).toEqual([0, '', 'Usage:'])
  }
  const offered = (line: string) => {
    const words = line.split(' ')
    const script = `${completion}\nCOMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _stampede; echo "\${COMPREPLY[*]}"`
    return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim()
  }
  expect(offered('stampede sa')).toBe('sale')
  expect(offered('stampede sale pu')).toBe('publish')
  expect(offered('stampede sale stock 42 --re')).toBe('--reason')
  expect(spawnSync('bash', ['-n'], { input: completion }).status).toBe(0)
  expect((await run(['completion', 'zsh'])).out).toContain('bashcompinit')
  expect((await run(['completion', 'fish'])).out).toContain(
    "complete -c stampede -f -n '__fish_use_subcommand' -a sale",
  )
})
