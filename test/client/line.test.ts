/** The client in a waiting line, against a real server: built for Node, where it polls, and with live news. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildClient } from '../../client/build.ts'
import { type BuyingState, type Join, StampedeClient, StampedeFailure } from '../../client/src/index.ts'
import { listenTo } from '../harness/heard-out.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { buyerToken } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(180_000)

const playground = new Playground()
let site: Site
let shop: LineShop
beforeAll(async () => {
  site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: {
      RATE_PER_BUYER: 'off',
      RATE_PER_ADDRESS: 'off',
      CALLS_PER_ADDRESS: 'off',
      CALLS_PER_BUYER: 'off',
      PAYMENT_PROVIDERS: 'sandbox',
    },
  })
  shop = new LineShop(() => site.url())
})
afterAll(() => playground.undo())

const clientOf = (buyer: string) => new StampedeClient({ url: site.url(), token: buyerToken(buyer) })
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'no refusal',
    error => (error instanceof StampedeFailure ? error.code : String(error)),
  )

/** A buyer who is in line: what `buy` shows, and its end. */
function buying(sale: LineSale, buyer: string, options: { waitForReturns?: boolean; signal?: AbortSignal } = {}) {
  const states: BuyingState[] = []
  const order = clientOf(buyer).buy(sale.id, sale.item, { ...options, onState: state => states.push(state) })
  // Looked at later: a refusal meanwhile is no unhandled one.
  order.catch(() => {})
  const last = (): Join | undefined => states.flatMap(state => (state.kind === 'in_line' ? [state.join] : [])).at(-1)
  const sees = (what: string, seen: (join: Join) => boolean) =>
    until(`${buyer} sees ${what}`, () => {
      const now = last()
      return now !== undefined && seen(now)
    })
  return { order, states, sees }
}

test('in Node: joins when the line opens, waits for the opening of the sale, and orders when it is let in', async () => {
  const dist = mkdtempSync(join(tmpdir(), 'stampede-client-line-'))
  playground.onUndo(() => rmSync(dist, { recursive: true, force: true }))
  await buildClient(dist)
  const sale = await shop.openSale({ opensInMs: 8_000, lineOpensInMs: 7_000 })
  const given = { dist, url: site.url(), token: buyerToken('ada'), sale: sale.id, item: sale.item, quantity: 1 }
  const child = spawn('node', [resolve(import.meta.dirname, 'buyer.mjs'), JSON.stringify(given)])
  const { code, out, err } = await listenTo(child).ran
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toMatchObject({ order: { state: 'pending' }, states: ['waiting', 'in_line', 'asking'] })
  expect(await shop.where(sale, 'ada')).toMatchObject({ number: 1 })
})

test('hears at once that it is sold out, keeps the place unless told otherwise, and gets a unit that comes back', async () => {
  const sale = await shop.openSale({ units: 1, line: { claimWithinSeconds: 600 } })
  await shop.steer(sale, 'pause')
  await shop.join(sale, 'first')
  const [patient, hasty] = [buying(sale, 'patient'), buying(sale, 'hasty', { waitForReturns: false })]
  await patient.sees('a place', ({ state, place }) => state === 'waiting' && place !== null)
  await hasty.sees('a place', ({ state }) => state === 'waiting')
  await shop.steer(sale, 'resume')
  await shop.isIn(sale, 'first', 'admitted')
  const taken = await shop.order(sale, 'first')
  expect(await codeOf(hasty.order)).toBe('sold_out')
  await patient.sees('sold out', ({ left }) => left === 0)
  await shop.leave(sale, 'hasty')
  await shop.till.cancel(taken as never)
  expect(await patient.order).toMatchObject({ buyer: 'patient', state: 'pending' })
})

test('joins again at the end after a missed turn, and is not let in by a ticket of before', async () => {
  const sale = await shop.openSale({ line: { claimWithinSeconds: 1 } })
  await shop.join(sale, 'late')
  await shop.isIn(sale, 'late', 'missed')
  const late = buying(sale, 'late')
  expect(await late.order).toMatchObject({ state: 'pending' })
  expect(await clientOf('late').placeInLine(sale.id)).toMatchObject({ number: 2, state: 'done' })
})

test('ends when an operator ends the sale, when the buyer leaves on another device, and when the caller says so', async () => {
  const sale = await shop.openSale()
  await shop.steer(sale, 'pause')
  const caller = new AbortController()
  const [leaving, ended, staying] = [buying(sale, 'a'), buying(sale, 'b', { signal: caller.signal }), buying(sale, 'c')]
  for (const one of [leaving, ended, staying]) await one.sees('a place', ({ state }) => state === 'waiting')
  await clientOf('a').leaveLine(sale.id)
  expect(await codeOf(leaving.order)).toBe('not_in_line')
  caller.abort()
  expect(await codeOf(ended.order)).toBe('aborted')
  expect(await clientOf('b').placeInLine(sale.id)).toMatchObject({ state: 'waiting' })
  await shop.till.operator('POST', `/sales/${sale.id}/end`)
  expect(await codeOf(staying.order)).toBe('sale_over')
})

test('a challenge is solved before joining; refusals of the line are codes that its types know', async () => {
  const sale = await shop.openSale({ more: { challenge: 1 }, line: { claim: 'phone' } })
  expect(await codeOf(clientOf('kim').joinLine(sale.id))).toBe('claim_required')
  expect(await codeOf(clientOf('kim').placeInLine(sale.id))).toBe('not_in_line')
  const other = await shop.openSale({ more: { challenge: 1 } })
  await shop.steer(other, 'pause')
  expect(await clientOf('kim').joinLine(other.id)).toMatchObject({ number: 1, state: 'waiting' })
  const refused = await clientOf('kim')
    .ticket(other.id, other.item)
    .catch(error => error as StampedeFailure)
  expect(refused).toMatchObject({ code: 'not_admitted', more: { place: 1, ahead: 0 } })
})
