import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createJournal } from '../../ledger/postgres/journal.ts'
import { findDeadLetter, listDeadLetters, retryDeadLetter } from './dead-letters.ts'

const ledger = ledgerForFile()
const context = () => ({ journal: createJournal(ledger.database), orders: ledger.orders })

test('a letter of which no order was born is placed by a retry, once; one that has an order is left as it is', async () => {
  const { item, epoch, sale } = await ledger.openItem({ units: 5 })
  const { journal, orders } = context()
  const [ask, other] = [ledger.ask('ann'), ledger.ask('ben')]
  const letter = { item, epoch, why: 'a column was too small', raw: JSON.stringify(ask) }
  await journal.writeDeadLetter({ ...letter, entry: '1-0', order: ask.order })
  const message = {
    v: 1,
    partition: item,
    epoch,
    entry: '2-0',
    asks: [[other.order, 'ben', 1, 1, other.reservedAtMs]],
  }
  await journal.writeDeadLetter({ ...letter, entry: 'message 0:7', order: undefined, raw: JSON.stringify(message) })
  await journal.writeDeadLetter({ ...letter, entry: '3-0', order: undefined, raw: 'nonsense' })
  const [nonsense, whole, one] = await listDeadLetters(context(), undefined, 3)
  expect([nonsense, whole, one].map(each => [each?.born, each?.retryable])).toEqual([
    [[], false],
    [[], true],
    [[], true],
  ])

  expect(await retryDeadLetter(context(), one!.id, 'op')).toMatchObject({
    kind: 'placed',
    placings: [{ verdict: 'placed' }],
  })
  expect(await retryDeadLetter(context(), one!.id, 'op')).toMatchObject({ kind: 'born', orders: [{ id: ask.order }] })
  expect(await retryDeadLetter(context(), whole!.id, 'op')).toMatchObject({ kind: 'placed' })
  expect(await retryDeadLetter(context(), whole!.id, 'op')).toMatchObject({
    kind: 'born',
    orders: [{ id: other.order }],
  })
  expect(await findDeadLetter(context(), whole!.id)).toMatchObject({ retryable: false, born: [{ state: 'pending' }] })
  expect(await retryDeadLetter(context(), nonsense!.id, 'op')).toEqual({ kind: 'unreadable' })
  expect(await retryDeadLetter(context(), '999999', 'op')).toEqual({ kind: 'unknown' })
  expect(await ledger.units(sale)).toMatchObject({ available: 3, pending: 2 })

  const bad = { ...ledger.ask('cyd'), quantity: 2 ** 40 }
  await journal.writeDeadLetter({ ...letter, entry: '4-0', order: bad.order, raw: JSON.stringify(bad) })
  const [poison] = await listDeadLetters(context(), undefined, 1)
  expect(await retryDeadLetter(context(), poison!.id, 'op')).toMatchObject({ kind: 'refused_again' })
  await orders.refuse(item, epoch, bad)
  expect((await findDeadLetter(context(), poison!.id))?.born).toMatchObject([{ state: 'closed', reason: 'refused' }])
  expect(await retryDeadLetter(context(), poison!.id, 'op')).toMatchObject({ kind: 'born' })
})
