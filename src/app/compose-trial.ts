/**
 * A shop that sells nothing real, to run the code that sells: the same functions and classes from the request to the row, with a gate, a queue,
 * limits, tickets and meters of its own. Its orders are placed in transactions that are rolled back; nothing of it is in Redis, in the registry, in
 * the metrics or in the log, nothing is published, and no id of this process is used up.
 */

import { AccessLists } from '../admission/access-lists.ts'
import { createCallLimits, createRateLimits } from '../admission/rate-limits.ts'
import { createTicketOffice, parseTicketKeys } from '../admission/ticket.ts'
import { assert } from '../base/assert.ts'
import { createBatcher } from '../base/batching/batcher.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ItemId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import { createDispatch } from '../edge/dispatch.ts'
import { createAnswering } from '../edge/http/answering.ts'
import { AskTally } from '../edge/ops/ask-tally.ts'
import { OrderRoute } from '../edge/order-route.ts'
import { NO_BUDGET } from '../flows/sell/hold-budget.ts'
import { LiveItem, type Registry } from '../flows/sell/live-item.ts'
import { createOpening } from '../flows/sell/opening.ts'
import { NO_PARCELS } from '../flows/sell/parcel-desk.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { Decision } from '../flows/sell/seller.ts'
import type { Ask } from '../gate/gate.ts'
import type { Orders } from '../ledger/orders.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openLocalGate } from './compose-local.ts'
import type { ProcessContext } from './process-context.ts'
import { BATCH_MAX, newWaves, QUEUE_MAX } from './selling.ts'
import type { TrialShop } from './start/warm-code.ts'

/** So many ask at once, as in a crowd: they share batches. */
const AT_ONCE = 64
const ROUNDS = 8
const UNITS = 10 * AT_ONCE * ROUNDS
const EPOCH = 1
const HOUR_MS = 3_600_000
/** Real ids hold the time, and are far higher: these exist nowhere. */
const ITEM_ID_MAX = 2 ** 45
const MANY = { count: 1_000_000_000, windowMs: 1_000 }
const BODY = '{"quantity":1}'

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

export function openTrialShop(context: ProcessContext): TrialShop {
  const { clock, random, ledger } = context
  const registry: Registry = new Map()
  const side = openLocalGate({ clock, ledger, registry })
  const gate = side.gate
  const { meters } = createMetrics(clock)
  let placing: Orders['place'] | undefined
  let ids = 0
  const unused = () => Promise.reject(new Error('a trial asks the ledger for nothing but placing'))
  const sell: SellContext = {
    gate,
    view: side.view,
    orders: { place: (...ask) => placing!(...ask), placeDirectly: unused },
    finder: context.finder,
    acknowledged: side.acknowledged,
    waiters: side.waiters,
    unplaced: side.unplaced,
    messages: { orderChanged() {}, orderReserved() {} },
    opening: createOpening(clock, AT_ONCE),
    ids: { next: () => String(++ids) },
    clock,
    log: silent,
    meters,
    fenceMs: context.config.fenceMs,
    onStale() {},
    alarm() {},
  }
  const makeSeller = side.sellers(sell)
  const tickets = createTicketOffice(parseTicketKeys(`trial:${Buffer.from(random.bytes(32)).toString('hex')}`))
  const rates = { perAddress: MANY, perBuyer: MANY, perItem: undefined, total: undefined, clock, random }
  const route = new OrderRoute({
    registry,
    catalog: context.catalog,
    sell,
    tickets,
    ticketBinding: undefined,
    orderLimits: createRateLimits(rates),
    // Only who has an order already, or asks elsewhere, meets them.
    callLimits: createCallLimits({ ...rates, perAddress: undefined, perBuyer: undefined }),
    lists: new AccessLists(clock),
    budget: NO_BUDGET,
    parcelDesk: NO_PARCELS,
    addressOf: () => '127.0.0.1',
    refusals: { count() {}, all: unused },
    asks: new AskTally({ ...context, askCounts: { save: unused, ofOthers: unused } }),
  })
  const order: OrderRoute['order'] = (request, sale, item) => route.order(request, sale, item)
  const dispatch = createDispatch({ routes: [], order }, createAnswering({ clock, log: silent, random, meters }))

  async function ask(item: ItemId, buyer: string, attempt: number, body: string): Promise<boolean> {
    const expiresAtMs = clock.now() + HOUR_MS
    const ticket = tickets.issue({ sale: item, item, buyer, attempt, notBeforeMs: 0, expiresAtMs })
    const headers = { authorization: `Bearer ${ticket}`, 'content-length': String(body.length) }
    const request = new Request(`http://127.0.0.1/api/sales/${item}/items/${item}/orders`, {
      method: 'POST',
      headers,
      ...(body !== '' && { body }),
    })
    const answer = await dispatch.everybody(request, { upgrade: () => false })
    return answer?.ok === true
  }

  async function askAll(item: ItemId, round: number, attempt: number, wins: boolean): Promise<number> {
    const body = round % 2 === 0 ? BODY : ''
    const buyers = Array.from({ length: AT_ONCE }, (_, i) => `trial-${attempt}-${round}-${i}`)
    const won = await Promise.all(buyers.map(buyer => ask(item, buyer, attempt, body)))
    // Not all of them: the ledger may have been too slow for a batch, and its buyers told to ask again.
    if (!wins) assert(!won.includes(true), 'a trial got an order that it should not get')
    return won.length
  }

  return {
    async sellSome() {
      const item = String(1 + Math.floor(random.next() * ITEM_ID_MAX))
      let answered = 0
      await ledger.trials.undone(item, UNITS, async within => {
        placing = within
        const live = liveItem(item, clock, makeSeller)
        const counts = { left: UNITS, held: 0, buyers: 0, attemptsMax: 1, changeNo: 0 }
        await gate.activate(item, EPOCH, { ...live.sale, ...counts, state: 'open' })
        registry.set(item, live)
        // One attempt is allowed: the second is refused by the gate. The units last.
        for (let round = 0; round < ROUNDS; round++) {
          if (round > 0) answered += await askAll(item, round, 2, false)
          answered += await askAll(item, round, 1, true)
        }
      })
      registry.delete(item)
      side.view.drop(item)
      return answered
    },
  }
}

function liveItem(id: ItemId, clock: Clock, makeSeller: ConstructorParameters<typeof LiveItem>[1]): LiveItem {
  const nowMs = clock.now()
  const item: Item = {
    id,
    sale: id,
    sku: undefined,
    name: 'trial',
    image: undefined,
    price: { amount: 100, currency: 'CNY' },
    listPrice: undefined,
    units: UNITS,
    available: UNITS,
    quantityMax: 1,
    attemptsMax: 1,
    payWithinMs: HOUR_MS,
    whenGateDown: 'shut',
    homeDoor: 'gate',
    shards: 1,
    door: 'gate',
    epoch: EPOCH,
    gateEpoch: EPOCH,
    gateShards: 1,
    changeNo: 0,
  }
  const sale: Sale = {
    id,
    name: 'trial',
    opensAtMs: nowMs - HOUR_MS,
    closesAtMs: nowMs + HOUR_MS,
    warmBeforeMs: 0,
    ticketsBeforeMs: undefined,
    challenge: undefined,
    state: 'ready',
    stateNo: 1,
    rule: 'first_come',
    items: [item],
  }
  return new LiveItem({ sale, item, current: true, skewed: false, seen: { atMs: 0 } }, makeSeller, run =>
    createBatcher<Ask, Decision>({ batchMax: BATCH_MAX, queueMax: QUEUE_MAX, waves: newWaves(clock), run }),
  )
}
