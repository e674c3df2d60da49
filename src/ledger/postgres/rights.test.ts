import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { PlaceReply } from '../orders.ts'

const ledger = ledgerForFile()

const verdicts = (reply: PlaceReply) => (reply.status === 'ok' ? reply.placings.map(one => one.verdict) : reply.status)

test('E3: of two keepers only the last to raise the epoch can read, open or shut', async () => {
  const { item, epoch } = await ledger.openItem()
  const [mine, theirs] = [await ledger.rights.raiseEpoch(item), await ledger.rights.raiseEpoch(item)]
  expect([mine, theirs]).toEqual([epoch + 1, epoch + 2])
  expect(await ledger.rights.snapshot(item, mine, async () => {})).toBeUndefined()
  for (const door of ['gate', 'ledger', 'shut', 'draining'] as const)
    expect(await ledger.rights.setDoor(item, mine, door)).toBe(false)
  expect(await ledger.rights.read(item)).toEqual({ epoch: theirs, door: 'draining' })
  // The first keeper has not moved gate_epoch: entries of the last gate are still placed.
  expect(verdicts(await ledger.orders.place(item, epoch, true, [ledger.ask('ann')]))).toEqual(['placed'])
  expect(await ledger.rights.snapshot(item, theirs, async () => {})).toMatchObject({ available: 9 })
  expect(await ledger.rights.setDoor(item, theirs, 'gate')).toBe(true)
  expect(await ledger.rights.setDoor(item, mine, 'shut')).toBe(false)
})

test('E3: many keepers raise the epoch at once: each gets its own, and the highest is in force', async () => {
  const { item, epoch } = await ledger.openItem()
  const epochs = await Promise.all(Array.from({ length: 8 }, () => ledger.rights.raiseEpoch(item)))
  expect(epochs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 8 }, (_, i) => epoch + 1 + i))
  const set = await Promise.all(epochs.map(one => ledger.rights.setDoor(item, one, 'gate')))
  expect(epochs.filter((_, i) => set[i])).toEqual([epoch + 8])
})

test('a keeper that is stopped in the middle of its snapshot does not keep the item for ever', async () => {
  const { item, epoch } = await ledger.openItem()
  await ledger.orders.place(item, epoch, false, [ledger.ask('ann')])
  const next = await ledger.rights.raiseEpoch(item)
  const asleep = Promise.withResolvers<void>()
  const woken = Promise.withResolvers<void>()
  const reading = ledger.rights.snapshot(item, next, () => {
    asleep.resolve()
    return woken.promise
  })
  await asleep.promise
  // Waits for the item's lock until the ledger has ended the session that does not answer.
  expect(await ledger.rights.raiseEpoch(item)).toBe(next + 1)
  woken.resolve()
  await expect(reading).rejects.toMatchObject({ code: 'ledger_away' })
  expect(verdicts(await ledger.orders.place(item, epoch, true, [ledger.ask('ben')])), 'gate_epoch').toEqual(['placed'])
}, 300_000)

test('E10: an operator opens the ledger door of a shut item, under its epoch, and of no other', async () => {
  const { sale, item, epoch } = await ledger.openItem()
  for (const door of ['gate', 'draining'] as const) {
    await ledger.rights.setDoor(item, epoch, door)
    expect(await ledger.rights.openLedgerDoor(item, 'op')).toBe(false)
  }
  await ledger.rights.setDoor(item, epoch, 'shut')
  expect(await ledger.rights.openLedgerDoor(item, 'op')).toBe(true)
  expect(await ledger.rights.openLedgerDoor(item, 'op'), 'again, after a lost answer').toBe(true)
  expect(await ledger.rights.read(item)).toEqual({ epoch, door: 'ledger' })
  expect(await ledger.sql("SELECT by, item::text FROM audit_log WHERE action = 'item.open_ledger_door'")).toEqual([
    { by: 'op', item },
  ])
  expect(await ledger.orders.placeDirectly(item, epoch, [ledger.ask('ann')])).toMatchObject({ status: 'ok' })
  expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
})

test('a raised epoch refuses to set the door or read a snapshot under an older one (E3, E9)', async () => {
  const { item, epoch } = await ledger.openItem()
  const next = await ledger.rights.raiseEpoch(item)
  expect(next).toBe(epoch + 1)
  expect(await ledger.rights.read(item)).toEqual({ epoch: next, door: 'draining' })
  expect(await ledger.rights.setDoor(item, epoch, 'gate')).toBe(false)
  expect(await ledger.rights.snapshot(item, epoch, async () => {})).toBeUndefined()
  // Until the new gate is built, the old one's entries are still placed.
  expect(verdicts(await ledger.orders.place(item, epoch, false, [ledger.ask('ann')]))).toEqual(['placed'])
  expect(await ledger.rights.snapshot(item, next, async () => {})).toMatchObject({ available: 9, held: 1, buyers: 1 })
  expect(await ledger.orders.place(item, epoch, false, [ledger.ask('ben')])).toEqual({ status: 'stale' })
})

test('a snapshot shows every attempt, live or closed, but no refusal, and nothing is placed while it reads', async () => {
  const { item, epoch } = await ledger.openItem({ units: 3 })
  const asks = [ledger.ask('ann', 2), ledger.ask('ben'), ledger.ask('cyd')]
  await ledger.orders.place(item, epoch, false, asks)
  await ledger.closings.close(item, [asks[1]?.order ?? ''], 'cancelled')
  const next = await ledger.rights.raiseEpoch(item)
  let placing: Promise<PlaceReply> | undefined
  const seen: [string, boolean][] = []
  const terms = await ledger.rights.snapshot(item, next, async page => {
    placing = ledger.orders.place(item, epoch, false, [ledger.ask('dan')])
    for (const { buyer, live } of page) seen.push([buyer, live])
    // The other transaction waits for the item's lock until this one has committed.
    for (;;) {
      const [row] = await ledger.sql(
        "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      )
      if (row?.waiting === 1) break
    }
  })
  expect(seen).toEqual([
    ['ann', true],
    ['ben', false],
  ])
  expect(terms).toMatchObject({ available: 1, held: 2, buyers: 2, changeNo: 0, state: 'open' })
  expect(await placing).toEqual({ status: 'stale' })
})
