import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDraw } from '../../domain/draw/draw.fixture.ts'
import type { DrawRecord } from '../../domain/draw/draw-record.ts'
import { recordText } from '../../wire/draw/record-text.ts'

const { record, receipts } = makeDraw(50, 7)
const receipt = receipts[11]!
let folder: string
let server: ReturnType<typeof Bun.serve>

async function textOf(record: DrawRecord): Promise<string> {
  async function* pages() {
    yield Array.from(record.order, (_, at) => ({ proof: record.proofs.subarray(at * 32, at * 32 + 32), left: false }))
  }
  let text = ''
  for await (const chunk of recordText(record, pages(), record.order)) text += chunk
  return text
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stampede-draw-'))
  writeFileSync(join(folder, 'right.json'), await textOf(record))
  writeFileSync(join(folder, 'wrong.json'), await textOf({ ...record, order: record.order.slice().reverse() }))
  writeFileSync(join(folder, 'receipt.json'), JSON.stringify(receipt))
  writeFileSync(join(folder, 'no-receipt.json'), '{}')
  server = Bun.serve({
    port: 0,
    fetch: async ({ url }) =>
      url.endsWith('/drawn')
        ? new Response(await textOf(record))
        : Response.json({ code: url.endsWith('/early') ? 'not_drawn' : 'not_found' }, { status: 409 }),
  })
})
afterAll(async () => {
  await server.stop(true)
  rmSync(folder, { recursive: true })
})

async function verify(...args: string[]) {
  const child = Bun.spawn([process.execPath, 'src/main.ts', 'draw', 'verify', ...args], {
    cwd: join(import.meta.dir, '../../..'),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exit: await child.exited, out, err }
}

describe('stampede draw verify', () => {
  test('ends with 0 for a right record, from a file and from an address', async () => {
    for (const from of [join(folder, 'right.json'), `${server.url}drawn`]) {
      const { exit, out } = await verify(from)
      expect(out).toContain('The draw of sale 8041 is right: 50 joins')
      expect(out).toContain('There was no beacon')
      expect(exit).toBe(0)
    }
  }, 60_000)

  test('ends with 1 and the first difference for a wrong one', async () => {
    const { exit, err } = await verify(join(folder, 'wrong.json'))
    expect(err).toMatch(
      /^stampede: the draw is not what the record says: place 1: number \d+ stands there, drawn was number \d+\n$/,
    )
    expect(exit).toBe(1)
  }, 60_000)

  test('says to a buyer with a receipt that his join is in it, and which place it has', async () => {
    const options = ['--receipt', join(folder, 'receipt.json'), '--json']
    const { exit, out } = await verify(join(folder, 'right.json'), ...options, '--buyer', receipt.buyer)
    expect(exit).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ sale: '8041', joins: 50, place: record.order.indexOf(12) + 1 })
    const other = await verify(join(folder, 'right.json'), ...options, '--buyer', 'another')
    expect(other.err).toContain('join 12: its proof is not that of buyer "another"')
    expect(other.exit).toBe(1)
  }, 60_000)

  test('ends with 1 where there is no record, and with 2 where the question makes no sense', async () => {
    const early = await verify(`${server.url}early`)
    expect(early.err).toContain('it is not drawn yet')
    expect(early.exit).toBe(1)
    expect((await verify('http://127.0.0.1:1/none')).exit).toBe(1)
    const missing = await verify(join(folder, 'none.json'))
    expect(missing.err).toContain("none.json can't be read")
    expect(missing.exit).toBe(2)
    expect((await verify(join(folder, 'right.json'), '--receipt', join(folder, 'no-receipt.json'))).exit).toBe(2)
    expect((await verify(join(folder, 'right.json'), '--buyer', 'b')).exit).toBe(2)
    expect((await verify()).exit).toBe(2)
  }, 60_000)
})
