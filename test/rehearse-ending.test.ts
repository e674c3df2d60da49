/** How `stampede rehearse` ends, whatever is in the way: its sale does not stay open, its verdict is not lost, Ctrl-C is heard. */

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { Playground } from './harness/playground.ts'
import { rehearsing } from './harness/rehearsing.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dirname, '..')
const COMMAND = join(ROOT, 'bin/stampede.mjs')
const FEW = ['--buyers', '40', '--units', '10', '--connections', '20', '--mix', 'pay=0,cancel=0,bots=0']
const LONG = ['--buyers', '500', '--units', '100', '--within', '60s']
const CROWD_IS_BUYING = /selling .*orders [1-9]/

/** One server for all of them: each has a sale of its own. */
const ground = new Playground()
let server: Stampede | undefined
const { playground, folder, begin, run } = rehearsing()
afterAll(() => ground.undo())

type Meddle = (method: string, path: string) => number | 'silence' | undefined

/** A server, and before it somebody who answers some requests himself, or never; and what the rehearsal's sale came to. */
async function start(meddle: Meddle) {
  const env = { RATE_PER_ADDRESS: 'off' }
  server ??= await Stampede.start(ground, { dataDir: ground.dataDir(), env })
  const behind = server.url()
  const sales = async () => {
    const answer = await fetch(`${behind}/api/admin/sales`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    const all = ((await answer.json()) as { sales: { id: string; name: string; state: string }[] }).sales
    return all.filter(one => one.name.startsWith('REHEARSAL'))
  }
  const before = new Set((await sales()).map(one => one.id))
  const proxy = createServer(async (request, reply) => {
    const { method = '', url = '' } = request
    const own = meddle(method, url)
    if (own === 'silence') return
    if (own !== undefined) {
      const body = JSON.stringify({ code: 'busy', detail: 'not now' })
      reply.writeHead(own, { 'content-length': body.length, 'content-type': 'application/problem+json' }).end(body)
      return
    }
    const body = await bodyOf(request)
    const { authorization = '' } = request.headers
    const headers = { 'content-type': 'application/json', ...(authorization !== '' && { authorization }) }
    const answer = await fetch(behind + url, { method, headers, ...(body !== '' && { body }) })
    const bytes = Buffer.from(await answer.arrayBuffer())
    reply.writeHead(answer.status, { 'content-length': bytes.length }).end(bytes)
  })
  playground.onUndo(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const sale = async () => (await sales()).find(one => !before.has(one.id))!
  const against = ['--against', url, '--token', ADMIN_TOKEN, '--buyer-secret', BUYER_JWT_SECRET]
  return { sale, url, against }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

/** Each but the first: that one is asked for before the first buyer. */
function laterAudits(answer: number | 'silence'): Meddle & { asked: () => number } {
  let asked = 0
  const meddle: Meddle = (_, path) => (path.endsWith('/audit') && ++asked > 1 ? answer : undefined)
  return Object.assign(meddle, { asked: () => asked })
}

test('the books can not be read: the sale is ended all the same', async () => {
  const { sale, against } = await start(laterAudits(503))
  const { code, out } = await run([...against, ...FEW, '--json'])
  expect(code).toBe(1)
  expect((JSON.parse(out) as Rehearsal).reasons.join()).toContain('the sale’s audit and orders could not be read')
  expect((await sale()).state).toBe('over')
})

test('a sale that was published and can not be warmed is ended again', async () => {
  const { sale, against } = await start((_, path) => (path.endsWith('/warm') ? 503 : undefined))
  const { code, err } = await run([...against, ...FEW])
  expect({ code, last: err.trim().split('\n').at(-1) }).toEqual({ code: 1, last: expect.stringContaining('/warm') })
  expect((await sale()).state).toBe('over')
})

test('an ending that is refused at first is asked for again', async () => {
  let refused = 0
  const { sale, against } = await start((_, path) => (path.endsWith('/end') && ++refused < 3 ? 503 : undefined))
  const { code, out } = await run([...against, ...FEW, '--json'])
  expect({ code, verdict: (JSON.parse(out) as Rehearsal).verdict }).toEqual({ code: 0, verdict: 'green' })
  expect((await sale()).state).toBe('over')
})

test('a sale that can not be ended is said to be open, with the command that ends it', async () => {
  const { sale, url, against } = await start((_, path) => (path.endsWith('/end') ? 503 : undefined))
  const { code, out, err } = await run([...against, ...FEW, '--json'])
  const { id } = await sale()
  const line = `the rehearsal’s sale ${id} is still open: stampede sale end ${id} --server ${url}`
  expect(err.split('\n')).toContain(line)
  const result = JSON.parse(out) as Rehearsal
  expect({ code, verdict: result.verdict, sold: result.books?.sold }).toEqual({ code: 1, verdict: 'red', sold: 10 })
  expect(result.notes).toContain(line)
})

test('Ctrl-C while the books are awaited in vain is answered soon, and the sale is ended', async () => {
  const audits = laterAudits('silence')
  const { sale, against } = await start(audits)
  const { child, ran } = begin([...against, ...FEW, '--report', 'r.html'])
  await until('the books are asked for', () => audits.asked() > 1)
  child.kill('SIGINT')
  // Up to 14 seconds are given to the last answers, the books and the end of the sale; an answer would be awaited for 30.
  const { code, err } = await within('the end', 25_000, ran)
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('the rehearsal failed: interrupted') })
  expect((await sale()).state).toBe('over')
})

test('a second Ctrl-C ends it at once, and says which sale is still open', async () => {
  let ending = false
  const { sale, url, against } = await start((_, path) => {
    if (!path.endsWith('/end')) return undefined
    ending = true
    return 'silence'
  })
  const { child, ran, err } = begin([...against, ...LONG, '--connections', '50'])
  await until('the crowd is buying', () => CROWD_IS_BUYING.test(err()))
  child.kill('SIGINT')
  // An impatient one comes after a while; what comes at once is the same one again. A second after it has heard the first it asks for
  // the end of its sale, and there it waits for an answer.
  await until('it asks for the end of its sale', () => ending)
  child.kill('SIGINT')
  const { code } = await ran
  const { id } = await sale()
  expect(code).toBe(130)
  expect(err().split('\n')).toContain(
    `the rehearsal’s sale ${id} is still open: stampede sale end ${id} --server ${url}`,
  )
})

test('one Ctrl-C that arrives twice, from the terminal and from the launcher, is one', async () => {
  const { child, ran, err } = begin([...LONG, '--report', 'r.html'], { command: ['node', COMMAND], detached: true })
  await until('the crowd is buying', () => CROWD_IS_BUYING.test(err()))
  process.kill(-child.pid!, 'SIGINT')
  const { code } = await ran
  expect({ code, last: err().trim().split('\n').at(-1) }).toEqual({
    code: 1,
    last: expect.stringContaining('interrupted'),
  })
  expect(readFileSync(join(folder(), 'r.html'), 'utf8')).toContain('Not finished')
})

test('a report that can not be written is said before anything begins', async () => {
  mkdirSync(join(folder(), 'taken'))
  for (const [path, words] of [
    ['missing/r.html', '--report: there is no folder'],
    ['taken', '--report: taken is a folder'],
  ]) {
    const { code, out, err } = await run([...FEW, '--report', path!])
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringContaining(words!) })
    expect(err.trim().split('\n')).toHaveLength(1)
  }
})

test('a folder that goes away meanwhile costs the report and not the verdict', async () => {
  const reports = join(folder(), 'reports')
  mkdirSync(reports)
  // With the first look into the books, which comes before the first buyer: whoever looks from outside may be late.
  const { against } = await start((_, path) => {
    if (path.endsWith('/audit')) rmSync(reports, { recursive: true, force: true })
    return undefined
  })
  const { ran, err } = begin([...against, ...FEW, '--json', '--report', 'reports/r.html'])
  const { code, out } = await ran
  expect(JSON.parse(out)).toMatchObject({ verdict: 'green', report: null, books: { sold: 10 } })
  expect({ code, last: err().trim().split('\n').at(-1) }).toEqual({
    code: 1,
    last: expect.stringContaining('the report could not be written to reports/r.html'),
  })
})

// Only root's PostgreSQL runs under another account, which a private folder keeps out.
test.if(process.getuid?.() === 0)('in a private folder, the data that had to lie elsewhere goes as well', async () => {
  chmodSync(folder(), 0o700)
  const { child, ran, err } = begin(LONG)
  await until('the buyers wait', () => /waiting|stampede .*orders/.test(err()))
  const [own] = readdirSync(folder()).filter(name => name.startsWith('stampede-rehearsal-'))
  const elsewhere = readlinkSync(join(folder(), own!, 'data', 'postgres'))
  expect(existsSync(join(elsewhere, 'PG_VERSION'))).toBe(true)
  child.kill('SIGINT')
  await ran
  const left = { folder: existsSync(join(folder(), own!)), elsewhere: existsSync(elsewhere) }
  rmSync(elsewhere, { recursive: true, force: true })
  expect(left).toEqual({ folder: false, elsewhere: false })
})
