/** `stampede rehearse`, as a shop runs it: on its own, against a server, and with everything in the way that can be. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { PROGRAM } from './harness/program.ts'
import { rehearsing } from './harness/rehearsing.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

setDefaultTimeout(300_000)

const LIMITS_ON = { RATE_PER_ADDRESS: '100/1s', RATE_PER_BUYER: '5/1s' }
/** A PostgreSQL is made first, and tickets for everybody. */
const BEGUN_MS_MAX = 60_000
/** What is under way there may take its time before it ends. */
const GONE_MS_MAX = 60_000
const FEW_HANDLES = ['/bin/sh', '-c', 'ulimit -n 512 && exec "$0" "$@"', process.execPath, PROGRAM] as const
const QUICK = ['--mix', 'pay=0,cancel=0,bots=0', '--connections', '100']
const { playground, folder, begin, run } = rehearsing()

/** The throwaway servers, by their folders. */
const throwaways = () => readdirSync(folder()).filter(name => name.startsWith('stampede-rehearsal-'))

/** Processes that were started with this folder in their command line or are working in it: PostgreSQL has its data there. */
function processesIn(path: string): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path)
      } catch {
        return false
      }
    })
}

function isIn(pid: string, path: string): boolean {
  try {
    return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === path
  } catch {
    return false
  }
}

async function start(
  env: Record<string, string> = {},
  faultPoints = '',
): Promise<{ server: Stampede; against: string[] }> {
  const server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env: { ...LIMITS_ON, ...env },
    faultPoints,
  })
  return { server, against: ['--against', server.url(), '--token', ADMIN_TOKEN, '--buyer-secret', BUYER_JWT_SECRET] }
}

function figureIn(html: string, name: string): string {
  return new RegExp(`data-figure="${name}">([^<]*)<`).exec(html)?.[1] ?? `no figure ${name}`
}

test('a rehearsal by itself sells every unit once, answers everyone, writes its report and leaves nothing behind', async () => {
  const args = ['--buyers', '2000', '--units', '50', '--seed', '7', '--json', '--report', 'r.html']
  const { code, out, last } = await run(args, { compared: true })
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const result = JSON.parse(out) as Rehearsal & { report: string }
  expect(result).toMatchObject({ verdict: 'green', reasons: [], partial: null, seed: 7, unexpected: {} })
  expect(result.books).toMatchObject({ units: 50, sold: 50, available: 0, liveOrderRows: 50, consistent: true })
  expect(result.buyers).toMatchObject({ all: 2000, answered: 2000, unanswered: 0 })
  expect(result.answers.early).toBeGreaterThan(0)
  expect((result.answers['bot invalid'] ?? 0) + (result.answers['bot sold_out'] ?? 0)).toBeGreaterThan(0)
  expect(result.books!.paid).toBeGreaterThan(0)
  expect(result.latency.count).toBeGreaterThanOrEqual(2000)
  const { constant, lastAnswerMs } = result
  expect(constant?.ratio).toBeCloseTo(lastAnswerMs / (constant?.lastAnswerMs ?? 0), 1)
  expect(last).toContain('a constant server has answered the same crowd within')

  const html = readFileSync(join(folder(), 'r.html'), 'utf8')
  expect(html).not.toMatch(/<script|<link|<iframe|<img|\bsrc=|\bhref=|url\(|@import|https?:\/\//i)
  expect(figureIn(html, 'sold')).toBe('50')
  expect(figureIn(html, 'liveOrderRows')).toBe('50')
  expect(figureIn(html, 'answered')).toBe('2,000')
  expect(figureIn(html, 'peakPerSecond')).toBe(result.peakPerSecond.toLocaleString('en-GB'))
  expect(figureIn(html, 'sentence').toLowerCase()).toBe(`${result.sentence.toLowerCase()}.`)
  expect(html.match(/<svg/g)).toHaveLength(5)
  expect(html).toContain('times as long')
  expect(throwaways()).toEqual([])
  expect(readdirSync('/proc').filter(pid => isIn(pid, folder()))).toEqual([])
  await expect(fetch(result.server.url)).rejects.toThrow()
})

test('against a running server it signs guests in, marks its sale and touches no other', async () => {
  const { server, against } = await start({ GUEST_SIGN_IN: 'on' })
  const shop = new Shop(() => server.url())
  const real = await shop.openSale(-1000, [{ units: 7 }])
  const asGuest = against.slice(0, -2)
  const { code, out, last } = await run([...asGuest, '--buyers', '300', '--units', '20', '--rate', '1000', '--json'])
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const result = JSON.parse(out) as Rehearsal & { report: string }
  expect(result.books).toMatchObject({ sold: 20, available: 0 })
  expect(existsSync(result.report)).toBe(true)
  const seen = await fetch(`${server.url()}/api/sales/${result.sale!.id}`).then(one => one.json())
  expect(seen).toMatchObject({ name: expect.stringMatching(/^REHEARSAL /), state: 'over' })
  expect((await shop.audit(real.id))[0]).toMatchObject({ units: 7, available: 7, pending: 0, consistent: true })
})

test('against a server on this machine the token is the one that its data folder keeps', async () => {
  const { server, against } = await start()
  mkdirSync(join(folder(), 'data'))
  writeFileSync(join(folder(), 'data', 'admin-token'), `${ADMIN_TOKEN}\n`)
  const crowd = ['--buyers', '50', '--units', '5', '--shape', 'poisson', '--within', '2s', '--seed', '3', '--json']
  const { code, out, last } = await run(['--against', server.url(), ...against.slice(4), ...QUICK, ...crowd])
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const result = JSON.parse(out) as Rehearsal
  expect(result.books).toMatchObject({ sold: 5, available: 0 })
  expect(result.settings.shape).toBe('a Poisson stream of 25 a second')
})

test('recorded clicks are replayed when they were', async () => {
  const { against } = await start()
  writeFileSync(join(folder(), 'clicks'), '0\n150\n150\n300\n900\n')
  const { code, out } = await run([
    ...against,
    ...QUICK,
    '--mix',
    'time=0,early=0,double=0,cancel=0,bots=0',
    '--replay',
    'clicks',
    '--units',
    '9',
    '--json',
  ])
  expect(code).toBe(0)
  const { timeline, buyers, books } = JSON.parse(out) as Rehearsal
  const at = timeline.clicks.flatMap((count, i) => new Array<number>(count).fill(timeline.fromMs + i * timeline.stepMs))
  expect(at).toEqual([0, 140, 140, 300, 900])
  expect({ withOrder: buyers.withOrder, available: books?.available }).toEqual({ withOrder: 5, available: 4 })
})

test('latency counts from the click, also when the request had to wait for its turn', async () => {
  const { against } = await start({}, 'answer.before=delay:300@*')
  writeFileSync(join(folder(), 'clicks'), '0\n0\n0\n0\n0\n')
  const alone = ['--connections', '1', '--replay', 'clicks', '--units', '5', '--json']
  const { code, out } = await run([...against, '--mix', 'time=0,early=0,double=0,pay=0,cancel=0,bots=0', ...alone])
  expect(code).toBe(0)
  const { latency, clickToRow } = JSON.parse(out) as Rehearsal
  expect(latency.count).toBe(5)
  expect(latency.p50).toBeGreaterThan(3 * 290)
  expect(latency.max).toBeGreaterThan(5 * 290)
  expect(clickToRow.max).toBe(latency.max)
})

test('a server that lies to one buyer turns the verdict red', async () => {
  const { server, against } = await start({ RATE_PER_ADDRESS: 'off' })
  const lie = '{"id":"999","attempt":1,"quantity":1,"state":"pending"}'
  let lies = 0
  const proxy = createServer(buyer => {
    const behind = connect(Number(new URL(server.url()).port), '127.0.0.1')
    buyer.on('error', () => behind.destroy())
    behind.on('error', () => buyer.destroy())
    buyer.pipe(behind)
    behind.on('end', () => buyer.end())
    behind.on('data', chunk => {
      const no = lies === 0 && chunk.includes('"code":"sold_out"')
      if (no) lies += 1
      buyer.write(no ? `HTTP/1.1 201 Created\r\ncontent-length: ${lie.length}\r\n\r\n${lie}` : chunk)
    })
  })
  playground.onUndo(() => proxy.close())
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const args = ['--against', url, ...against.slice(2), ...QUICK, '--buyers', '200', '--units', '10', '--json']
  const { code, out, last } = await run(args)
  expect({ code, lies }).toEqual({ code: 1, lies: 1 })
  const result = JSON.parse(out) as Rehearsal & { report: string }
  expect(result.verdict).toBe('red')
  expect(result.reasons.join('\n')).toContain('promise 2 is broken')
  expect(last).toStartWith('stampede: the rehearsal failed')
  expect(readFileSync(result.report, 'utf8')).toContain('A promise was not kept')
})

test('a server that dies in mid-run: one line, exit code 1 and a partial report', async () => {
  const { against } = await start({}, 'place.after=kill@2')
  const { code, out, last } = await run([
    ...against,
    ...QUICK,
    '--buyers',
    '400',
    '--units',
    '300',
    '--report',
    'r.html',
  ])
  expect({ code, last }).toEqual({ code: 1, last: expect.stringContaining('the server went away in the middle') })
  expect(out).toStartWith('RED: ')
  expect(readFileSync(join(folder(), 'r.html'), 'utf8')).toContain('Not finished')
})

test('Ctrl-C: one line, exit code 1, a partial report, and neither server nor PostgreSQL nor folder is left', async () => {
  const { child, ran, err } = begin(['--buyers', '500', '--units', '100', '--within', '60s', '--report', 'r.html'])
  await until('the crowd is buying', () => /selling .*orders [1-9]/.test(err()), BEGUN_MS_MAX)
  const [own] = throwaways()
  expect(own).toBeDefined()
  expect(processesIn(own!).length).toBeGreaterThan(0)
  child.kill('SIGINT')
  const { code, last } = await ran
  expect({ code, last }).toEqual({ code: 1, last: expect.stringContaining('interrupted') })
  expect(readFileSync(join(folder(), 'r.html'), 'utf8')).toContain('Not finished')
  expect({ folder: throwaways().includes(own!), processes: processesIn(own!) }).toEqual({
    folder: false,
    processes: [],
  })
})

test('the throwaway server is killed: a partial report, and its PostgreSQL does not stay', async () => {
  const { ran, err } = begin(['--buyers', '500', '--units', '100', '--within', '60s', '--report', 'r.html'])
  await until('the crowd is buying', () => /selling .*orders [1-9]/.test(err()), BEGUN_MS_MAX)
  const [own] = throwaways()
  expect(own).toBeDefined()
  const server = readdirSync('/proc').find(pid => isIn(pid, join(folder(), own!)))
  process.kill(Number(server), 'SIGKILL')
  const { code, last } = await ran
  expect({ code, last }).toEqual({ code: 1, last: expect.stringContaining('the server went away in the middle') })
  expect(existsSync(join(folder(), 'r.html'))).toBe(true)
  expect({ folder: throwaways().includes(own!), processes: processesIn(own!) }).toEqual({
    folder: false,
    processes: [],
  })
})

test('killed outright, it still leaves nothing running', async () => {
  const { child, err } = begin(['--buyers', '500', '--units', '100', '--within', '60s'])
  await until('the buyers wait', () => /waiting|stampede .*orders/.test(err()), BEGUN_MS_MAX)
  const [own] = throwaways()
  expect(own).toBeDefined()
  expect(processesIn(own!).length).toBeGreaterThan(0)
  child.kill('SIGKILL')
  const isGone = () => !throwaways().includes(own!) && processesIn(own!).length === 0
  await until('all of it is gone', isGone, GONE_MS_MAX)
})

test('whatever keeps it from beginning is one clear line', async () => {
  const other = createHttpServer((_, reply) => reply.end('<html>'))
  playground.onUndo(() => other.close())
  await new Promise<void>(done => other.listen(0, '127.0.0.1', done))
  const port = (other.address() as AddressInfo).port
  const { server, against } = await start()
  const few = ['--buyers', '10', '--units', '1']
  writeFileSync(join(folder(), 'days'), '0\n7000000\n')
  const cases: [args: string[], code: number, words: string][] = [
    [['--against', 'http://127.0.0.1:9', '--token', ADMIN_TOKEN, ...few], 1, 'no server answers on http://127.0.0.1:9'],
    [['--against', `http://127.0.0.1:${port}`, '--token', ADMIN_TOKEN, ...few], 1, 'is not a Stampede server'],
    [
      ['--against', server.url(), '--token', 'wrong-wrong-wrong-wrong', ...few],
      1,
      'does not accept this operator token',
    ],
    [['--against', server.url(), ...few], 2, 'needs the operator token'],
    [['--against', 'nowhere', '--token', ADMIN_TOKEN], 2, 'is not the address of a server'],
    [['--buyers', '0'], 2, '--buyers must lie between'],
    [['--mix', 'early=200'], 2, '--mix: "early=200"'],
    [['--within', 'soon'], 2, '--within: "soon" is not a time'],
    [['--shape', 'square'], 2, '--shape: "square"'],
    [['--replay', 'missing'], 2, '--replay: missing can not be read'],
    [['--within', '999999m'], 2, '--within: the last click would come 999,999 minutes after the opening'],
    [['--rate', '1'], 2, '--rate: the last click would come 167 minutes after the opening'],
    [['--shape', 'poisson', '--within', '999m'], 2, '--within: the last click would come 999 minutes'],
    [['--shape', 'poisson', '--within', '0s'], 2, '--within: 10000 buyers in 0s are more than 1000000 clicks a second'],
    [['--shape', 'ramp', '--rate', '100'], 2, '--rate is for --shape poisson, not ramp'],
    [['--shape', 'spike', '--rate', '100'], 2, '--rate is for --shape poisson, not spike'],
    [['--rate', '100', '--within', '10s'], 2, '--rate and --within'],
    [['--replay', 'days', '--shape', 'spike'], 2, '--replay says when everyone clicks: --shape has no place beside it'],
    [['--replay', 'days', '--rate', '9'], 2, '--replay says when everyone clicks: --rate has no place beside it'],
    [['--replay', 'days', '--within', '1s'], 2, '--replay says when everyone clicks: --within has no place beside it'],
    [['--replay', 'days'], 2, '--replay: the last click would come 117 minutes after the opening'],
  ]
  for (const [args, code, words] of cases) {
    const ran = await run(args)
    expect({ code: ran.code, last: ran.last, out: ran.out }).toEqual({
      code,
      last: expect.stringContaining(words),
      out: '',
    })
  }
  const guests = await run([...against.slice(0, -2), ...few])
  expect({ code: guests.code, last: guests.last }).toEqual({ code: 1, last: expect.stringContaining('--buyer-secret') })
  const handles = await begin([...against, '--buyers', '2000', '--connections', '1000'], { command: FEW_HANDLES }).ran
  expect({ code: handles.code, last: handles.last }).toEqual({
    code: 1,
    last: expect.stringContaining('too few file handles'),
  })
})
