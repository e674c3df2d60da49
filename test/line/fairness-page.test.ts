/** The program in docs/fairness.md, run as it stands there: it must call a right record right, and a wrong one wrong. */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDraw } from '../../src/domain/draw/draw.fixture.ts'
import type { DrawRecord } from '../../src/domain/draw/draw-record.ts'
import { recordText } from '../../src/wire/draw/record-text.ts'

const folder = mkdtempSync(join(tmpdir(), 'stampede-fairness-'))
afterAll(() => rmSync(folder, { recursive: true }))

const page = readFileSync(join(import.meta.dir, '../../docs/fairness.md'), 'utf8')
const program = /```js\n([\s\S]*?)```/.exec(page)![1]!

async function judged(record: DrawRecord): Promise<string> {
  const joins = Array.from({ length: record.proofs.length / 32 }, (_, at) => ({
    proof: record.proofs.subarray(at * 32, at * 32 + 32),
    left: false,
  }))
  async function* pages() {
    yield joins
  }
  let text = ''
  for await (const chunk of recordText(record, pages(), record.order)) text += chunk
  writeFileSync(join(folder, 'record.json'), text)
  writeFileSync(join(folder, 'check.cjs'), program)
  const child = Bun.spawn([process.execPath, 'check.cjs'], { cwd: folder, stdout: 'pipe' })
  return (await new Response(child.stdout).text()).trim()
}

test('a reader of the page can check a draw with the program that stands there', async () => {
  for (const beacon of [undefined, { source: 'drand', round: 7, value: 'ab', signature: 'cd' }]) {
    const { record } = makeDraw(200, 5, beacon)
    expect(await judged(record)).toBe('right')
    expect(await judged({ ...record, seed: record.root })).toBe('wrong')
    expect(await judged({ ...record, order: record.order.slice().reverse() })).toBe('wrong')
    expect(await judged({ ...record, proofs: record.proofs.map((byte, i) => (i === 40 ? byte ^ 1 : byte)) })).toBe(
      'wrong',
    )
    expect(await judged({ ...record, proofs: record.proofs.subarray(0, 199 * 32) })).toBe('wrong')
    const added = Buffer.concat([record.proofs, record.proofs.subarray(0, 32)])
    expect(await judged({ ...record, proofs: added })).toBe('wrong')
    const moved = Buffer.concat([
      record.proofs.subarray(32, 64),
      record.proofs.subarray(0, 32),
      record.proofs.subarray(64),
    ])
    expect(await judged({ ...record, proofs: moved })).toBe('wrong')
  }
}, 60_000)
