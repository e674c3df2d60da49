import { describe, expect, test } from 'bun:test'
import { makeDraw } from '../../domain/draw/draw.fixture.ts'
import type { DrawRecord } from '../../domain/draw/draw-record.ts'
import { RecordReader } from './record-reader.ts'
import { recordText } from './record-text.ts'

const BEACON = { source: 'drand', round: 9_000_000, value: 'ab'.repeat(32), signature: 'cd'.repeat(48) }

async function textOf(record: DrawRecord, isLeft = (_: number) => false, page = 7): Promise<string> {
  const joins = Array.from(record.order, (_, at) => ({
    proof: record.proofs.subarray(at * 32, at * 32 + 32),
    left: isLeft(at + 1),
  }))
  async function* pages() {
    for (let at = 0; at < joins.length; at += page) yield joins.slice(at, at + page)
  }
  let text = ''
  for await (const chunk of recordText(record, pages(), record.order)) text += chunk
  return text
}

function read(text: string, chunk = 1000): DrawRecord {
  const reader = new RecordReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunk) reader.write(bytes.subarray(at, at + chunk))
  return reader.end()
}

describe('the text of a record', () => {
  for (const joins of [0, 1, 6, 7, 8, 5_000]) {
    test(`of ${joins} joins is JSON and is read back whole, in pieces of any size`, async () => {
      const { record } = makeDraw(joins, 1, BEACON)
      const text = await textOf(record, number => number % 3 === 0)
      const parsed = JSON.parse(text)
      expect(parsed.joins.length).toBe(joins)
      expect(parsed.joins.filter((join: { left?: true }) => join.left).length).toBe(Math.floor(joins / 3))
      expect(parsed.note).toBeUndefined()
      for (const chunk of joins < 10 ? [1, 3, 1000] : [997]) expect(read(text, chunk)).toEqual(record)
    })
  }

  test('says so where there was no beacon', async () => {
    const { record } = makeDraw(3, 1)
    const text = await textOf(record)
    expect(JSON.parse(text).note).toMatch(/^There was no beacon/)
    expect(read(text)).toEqual(record)
  })

  test('is read with its members in any order, spaces, escapes and members of later versions', async () => {
    const { record } = makeDraw(9, 2, { source: 'Börse "A"\n', value: 'é' })
    const parsed = JSON.parse(await textOf(record)) as Record<string, unknown>
    const turned = Object.fromEntries(Object.entries({ ...parsed, more: { a: [1, { b: null }], c: [] } }).reverse())
    expect(read(JSON.stringify(turned, null, 2), 1)).toEqual(record)
  })

  const wrong: [string, (text: string) => string, RegExp][] = [
    ['an end too early', text => text.slice(0, -2), /ends too early/],
    ['something behind its end', text => `${text}1`, /value is in the wrong place/],
    ['a missing join', text => text.replace(/\{"number":4,.*\},\n/, ''), /^join 4: number 5 stands there/],
    ['two joins in another order', text => text.replace('"number":4', '"number":5'), /^join 4: number 5 stands there/],
    ['a proof that is none', text => text.replace(/"proof":"../, '"proof":"XY'), /^join 1: the proof/],
    ['a place that is none', text => text.replace('"places":[', '"places":[0,'), /^place 1: not the number/],
    ['a missing member', text => text.replace('"seed"', '"tree"'), /^seed: missing/],
    ['a member twice', text => text.replace('"root"', '"seed":"","root"'), /^seed: there twice/],
    ['a list twice', text => text.replace('"joins"', '"places":[],"joins"'), /^places: there twice/],
    ['a fraction', text => text.replace('"places":[', '"places":[1.5,'), /not a whole number/],
    [
      'deep nesting',
      text => text.replace('"joins"', `"x":${'['.repeat(9)}${']'.repeat(9)},"joins"`),
      /more than 8 deep/,
    ],
    ['a long text', text => text.replace('"joins"', `"x":"${'x'.repeat(5_000)}","joins"`), /longer than 4096/],
    ['a comma too many', text => text.replace(',\n', ',,\n'), /wrong place/],
    ['a wrong bracket', text => text.replace(']}\n', '}]\n'), /bracket is in the wrong place/],
    ['another document', () => '[1]', /not an object/],
    ['no JSON', () => '<html>', /not JSON/],
  ]
  for (const [name, change, message] of wrong) {
    test(`${name} is refused by name`, async () => {
      const text = change(await textOf(makeDraw(9, 3).record))
      expect(() => read(text)).toThrow(message)
    })
  }
})
