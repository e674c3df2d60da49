/** `stampede rehearse` where orders are reserved first and placed later, and where a part is killed in the middle of the run. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Rehearsal } from '../src/rehearsal/result.ts'
import { freePort } from './harness/free-port.ts'
import { rehearsing } from './harness/rehearsing.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from './harness/stampede.ts'

setDefaultTimeout(300_000)

const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>'
const { playground, folder, run } = rehearsing()

/**
 * Stands before the server as nginx does: a request that meets no server, or loses it before the answer, is answered with a page of
 * the proxy's own. `rewrite` sees every answer with the line that it was asked by.
 */
async function proxyTo(port: number, rewrite: (asked: string, answer: Buffer) => Buffer | string): Promise<string> {
  const proxy = createServer(buyer => {
    let behind: Socket | undefined
    let asked = ''
    buyer.on('error', () => behind?.destroy())
    buyer.on('close', () => behind?.destroy())
    buyer.on('data', request => {
      asked = request.toString('latin1', 0, request.indexOf('\r\n'))
      if (behind === undefined) {
        const server = connect(port, '127.0.0.1')
        behind = server
        server.on('error', () => {})
        server.on('data', answer => {
          buyer.write(rewrite(asked, Buffer.from(answer)))
          asked = ''
        })
        server.on('close', () => {
          behind = undefined
          if (asked !== '') buyer.write(BAD_GATEWAY)
          asked = ''
        })
      }
      behind.write(request)
    })
  })
  playground.onUndo(() => void proxy.close())
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

const startTicksOf = (pid: number) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
}

function writeClusterFile(url: string, server: Stampede): string {
  const path = join(folder(), 'cluster.json')
  const parts = [{ name: 'edge-1', role: 'edge', pid: server.pid, startTicks: startTicksOf(server.pid) }]
  writeFileSync(path, JSON.stringify({ url, adminToken: ADMIN_TOKEN, buyerSecret: BUYER_JWT_SECRET, parts }))
  return path
}

test('who is told "reserved" looks until the order is placed, and only then counts as answered', async () => {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  const lookedAt = new Set<string>()
  let told = 0
  const url = await proxyTo(Number(new URL(server.url()).port), (asked, answer) => {
    const clicked = asked.startsWith('POST /api/sales/') && asked.includes('/orders ')
    const looks = /^GET \/api\/orders\/(\d+) /.exec(asked)
    const bodyAt = answer.indexOf('\r\n\r\n') + 4
    const text = answer.toString('utf8', bodyAt)
    if ((!clicked && looks === null) || !text.includes('"state":"pending"')) return answer
    // The second look finds it.
    if (looks !== null && lookedAt.has(looks[1]!)) return answer
    if (looks !== null) lookedAt.add(looks[1]!)
    else told += 1
    const body = text.replace('"state":"pending"', '"state":"reserved"')
    return `HTTP/1.1 ${clicked ? 202 : 200} X\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  })
  const against = ['--against', url, '--token', ADMIN_TOKEN, '--buyer-secret', BUYER_JWT_SECRET]
  const crowd = ['--buyers', '300', '--units', '40', '--seed', '3', '--connections', '100', '--json']
  const { code, out, last } = await run([...against, ...crowd])
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const result = JSON.parse(out) as Rehearsal
  expect(told).toBeGreaterThanOrEqual(40)
  expect(result.answers.reserved).toBe(told)
  expect(result.answers.placed).toBeUndefined()
  expect(result.buyers).toMatchObject({ all: 300, answered: 300, unanswered: 0 })
  expect(result.books).toMatchObject({ sold: 40, liveOrderRows: 40 })
  expect(result.clickToRow.count, 'from the click to the look that found it placed').toBeGreaterThanOrEqual(40)
  expect(result.clickToRow.p50).toBeGreaterThan(200)
  expect(result.fault).toBeNull()
})

test('an edge is killed in the middle: everybody is answered in the end, and the report shows when', async () => {
  const port = await freePort()
  const options = { dataDir: playground.dataDir(), env: { PORT: String(port) } }
  const first = await Stampede.start(playground, options)
  const url = await proxyTo(port, (_, answer) => answer)
  const file = writeClusterFile(url, first)
  const again = first.exited.then(async ({ signal }) => {
    const second = await Stampede.start(playground, options)
    writeClusterFile(url, second)
    return { signal, second }
  })
  const crowd = ['--buyers', '1500', '--units', '400', '--within', '2s', '--seed', '5', '--connections', '100']
  const { code, out, err, last } = await run([
    ...['--fault', 'edge', '--cluster', file, '--json', '--report', 'r.html'],
    ...crowd,
  ])
  expect({ code, last: code === 0 ? '' : last }).toEqual({ code: 0, last: '' })
  const { signal, second } = await again
  expect({ signal, running: second.running() }).toEqual({ signal: 'SIGKILL', running: true })
  const result = JSON.parse(out) as Rehearsal
  expect(result.fault).toMatchObject({ role: 'edge', part: 'edge-1', missed: null })
  // Between the opening and the last answer: how long a slow machine needs for either, nobody knows.
  expect(result.fault!.atMs).toBeWithin(1, result.lastAnswerMs)
  expect(result.answers.unknown, 'answers that the kill swallowed').toBeGreaterThan(0)
  expect(result).toMatchObject({ verdict: 'green', unexpected: {}, buyers: { answered: 1500, unanswered: 0 } })
  expect(result.books).toMatchObject({ sold: 400, available: 0, consistent: true })
  expect(err).toMatch(/^edge-1 was killed \d+\.\d\d s after the opening$/m)
  const html = readFileSync(join(folder(), 'r.html'), 'utf8')
  expect(html).toContain('Edge-1 was killed')
  expect(html.match(/<g class="fault"><path [^>]*\/><text [^>]*>edge-1 killed</g)).toHaveLength(2)
})

test('every misuse of --fault is one clear line, and nothing is begun', async () => {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  const file = writeClusterFile(server.url(), server)
  const old = join(folder(), 'old.json')
  writeFileSync(old, readFileSync(file, 'utf8').replace(/"startTicks":"\d+"/, '"startTicks":"1"'))
  const torn = join(folder(), 'torn.json')
  writeFileSync(torn, '{')
  const cases: [args: string[], words: string][] = [
    [['--fault', 'edge'], '--fault: there is no ./data/cluster/cluster.json: start a cluster'],
    [['--fault', 'edge', '--against', server.url()], '--fault: there is no ./data/cluster/cluster.json'],
    [['--fault', 'nginx', '--cluster', file], '--fault: "nginx" is none of redis, worker, edge, keeper, postgres'],
    [['--fault', 'worker', '--cluster', file], '--fault: there is no worker in the cluster of'],
    [['--fault', 'edge', '--cluster', old], 'does not run any more'],
    [['--fault', 'edge', '--cluster', torn], 'is not the file of a cluster'],
    [['--cluster', 'missing.json'], '--cluster: there is no missing.json'],
    [['--fault', 'edge', '--cluster', file, '--against', 'http://shop.example'], 'is not the cluster of'],
  ]
  for (const [args, words] of cases) {
    const { code, out, last } = await run([...args, '--buyers', '10', '--units', '1'])
    expect({ code, out, last }).toEqual({ code: 2, out: '', last: expect.stringContaining(words) })
  }
  expect(server.running()).toBe(true)
})
