import { describe, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { commitmentOf } from '../../../domain/draw/draw-key.ts'
import { createLineDraws } from './line-draws.ts'
import { createLines } from './lines.ts'

const ledger = ledgerForFile()
const draws = () => createLineDraws(ledger.database)
const lines = () => createLines(ledger.database)
const bytes = (value: number) => Buffer.alloc(32, value)
const HOUR_MS = 3_600_000
const LOTTERY = { source: 'a public lottery', round: undefined }

async function openLine(sealsInMs: number, promise?: { source: string; round?: number | undefined }) {
  const { sale } = await ledger.openItem()
  const opening = { sale, algorithm: 'stampede-draw-1', seed: bytes(7), sealsAtMs: Date.now() + sealsInMs, promise }
  const draw = await draws().open(opening)
  await lines().open(sale, bytes(1), bytes(2))
  return { sale, draw, opening }
}

const found = async (sale: string) => (await draws().find([sale]))[0]!

/** One join that counts, written as the line writes it. */
function join(sale: string, number: number, head: Uint8Array) {
  return lines().write(sale, [`b${number}`], ({ leaves }) => ({
    write: {
      joins: [{ number, buyer: `b${number}`, proof: bytes(number), leftNo: undefined }],
      ends: [],
      numbers: number,
      leaves,
      head,
    },
    result: number,
  }))
}

describe('the row of a draw', () => {
  test('is there before its commitment is known, once, and keeps its seed to itself', async () => {
    const { sale, draw, opening } = await openLine(HOUR_MS)
    expect(draw).toMatchObject({ sale, promise: undefined, sealed: undefined, beacon: undefined, drawn: undefined })
    expect(Buffer.from(draw.commitment)).toEqual(Buffer.from(commitmentOf(bytes(7))))
    const again = await Promise.all([3, 4, 5].map(value => draws().open({ ...opening, seed: bytes(value) })))
    for (const one of again) expect(one).toEqual(draw)
    expect(
      Object.values(await found(sale)).some(value => value instanceof Uint8Array && bytes(7).equals(value)),
    ).toBeFalse()
  })

  test('is sealed at its time, once, with the joins up to then', async () => {
    const early = await openLine(HOUR_MS)
    expect(await draws().seal(early.sale)).toBe(false)
    expect(await draws().draw(early.sale)).toBe(false)
    const due = await openLine(-1)
    expect(await Promise.all([1, 2, 3].map(() => draws().seal(due.sale)))).toContain(true)
    await join(due.sale, 1, bytes(9))
    expect(await draws().seal(due.sale)).toBe(false)
    expect((await found(due.sale)).sealed).toEqual({ joins: 0, leaves: 0, root: bytes(2) })
  })

  test('is sealed by the first join after its time, and without it, when the seal itself is late', async () => {
    const { sale } = await openLine(1_500)
    await join(sale, 1, bytes(9))
    expect((await found(sale)).sealed).toBeUndefined()
    await ledger.sql("SELECT pg_sleep_until($1::timestamptz + interval '5 ms')", [
      new Date((await found(sale)).sealsAtMs),
    ])
    await join(sale, 2, bytes(10))
    await join(sale, 3, bytes(11))
    expect((await found(sale)).sealed).toEqual({ joins: 1, leaves: 0, root: bytes(9) })
    expect(await draws().seal(sale)).toBe(false)
  })

  test('takes the beacon that was named, after the seal, once, and then it is drawn once', async () => {
    const { sale } = await openLine(-1, LOTTERY)
    const entered = { ...LOTTERY, value: '4 8 15' }
    expect(await draws().setBeacon(sale, entered, 'op')).toBe(false)
    await draws().seal(sale)
    expect(await draws().draw(sale)).toBe(false)
    expect(await draws().setBeacon(sale, { source: 'another', value: '1' }, 'op')).toBe(false)
    expect(await draws().setBeacon(sale, { ...entered, round: 5 }, 'op')).toBe(false)
    expect(await draws().setBeacon(sale, entered, 'op')).toBe(true)
    expect(await draws().setBeacon(sale, { ...entered, value: '16' }, 'op')).toBe(false)
    expect((await found(sale)).beacon).toEqual({ ...entered, signature: undefined })
    const logged = await ledger.sql(
      "SELECT by, details->>'value' AS value FROM audit_log WHERE action = 'line.beacon' AND sale = $1",
      [sale],
    )
    expect(logged).toEqual([{ by: 'op', value: '4 8 15' }])
    const drawn = await Promise.all([1, 2, 3].map(() => draws().draw(sale)))
    expect(drawn.filter(did => did).length).toBe(1)
    expect((await found(sale)).drawn?.seed).toEqual(bytes(7))
  })

  test('changes nothing that is set, whatever a statement says', async () => {
    const { sale } = await openLine(-1)
    await draws().seal(sale)
    await draws().draw(sale)
    for (const change of [
      "seed = sha256('x'), commitment = sha256(sha256('x'))",
      'drawn_at = clock_timestamp()',
      'drawn_at = NULL',
      'joins = 5',
      "root = 'x'",
    ])
      await expect(ledger.sql(`UPDATE line_draws SET ${change} WHERE sale = ${sale}`)).rejects.toThrow(
        /what is set stays|violates/,
      )
    const before = await found(sale)
    expect(await found(sale)).toEqual(before)
  })
})
