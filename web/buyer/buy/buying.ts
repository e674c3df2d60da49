/**
 * From the press of the button to an order or a refusal. One ask at a time for an item, in this tab (a second press finds the first) and in
 * the others (a lock between tabs). A missing answer is not a refusal: the same ticket is sent again, with growing pauses, until the server
 * has answered, also after a reload.
 *
 * nothing → sending → an order | cooling | limited | attempts used; cooling and limited end by themselves.
 */

import { call, type Refused, type Reply } from '../api.ts'
import type { Order } from '../shapes.ts'
import { store } from '../store.ts'
import { loadOrders, loadSale, noteReply } from '../sync/loading.ts'
import { backOffMs } from '../sync/moments.ts'
import { measureServerTime, serverNow } from '../sync/server-time.ts'
import { findSession } from '../sync/session.ts'
import type { Doing } from './button-state.ts'
import { alone, onTabMessage, publish, sleep, whenFree } from './tabs.ts'
import { type Ask, dropAsk, dropTicket, keepAsk, keptAsks, ticketFor } from './tickets.ts'

/** What holds too many unpaid units has to be paid first, or to end. */
const HOLD_LIMIT_MS = 10_000
/** After a refusal the button rests for so long. */
const COOL_DOWN_MS = 3_000
/** An opening nearer than this is waited for instead of being reported to the buyer. */
const NEARLY_OPEN_MS = 2_000
/** Two tabs that both gave way to the other try again, at most so often. */
const LOCK_TRIES_MAX = 3

const NOTHING: Doing = { kind: 'nothing' }

/** An ask under way; `newTicket`, `newSession`: it was replaced once. */
interface Asking {
  ask: Ask
  /** Answers that were lost so far. */
  tries: number
  newTicket: boolean
  newSession: boolean
}

export async function buy(sale: string, item: string, quantity: number): Promise<void> {
  await askAlone({ sale, item, quantity, ticket: '' })
}

/** Continues the asks that were under way when the page was left. */
export async function resumeAsks(): Promise<void> {
  await Promise.all(
    keptAsks().map(ask => {
      // Without a ticket nothing was sent: the buyer may press again.
      if (ask.ticket === '') dropAsk(ask.item)
      return ask.ticket === '' ? undefined : askAlone(ask)
    }),
  )
}

export function followOtherTabs(): void {
  onTabMessage(message => {
    if (message.kind === 'order') return store.putOrder(message.order)
    if (message.kind === 'session') return
    askedElsewhere.add(message.item)
    if (store.doing(message.item).kind !== 'sending') void waitForOtherTab(message.item)
  })
}

/** Items that another tab is asking for, since they were last pressed here. */
const askedElsewhere = new Set<string>()

async function askAlone(ask: Ask, tries = 1): Promise<void> {
  if (store.doing(ask.item).kind === 'sending') return
  askedElsewhere.delete(ask.item)
  store.setDoing(ask.item, { kind: 'sending', tries: 0, elsewhere: false })
  const done = await alone(`ask.${ask.item}`, async () => {
    publish({ kind: 'sending', item: ask.item })
    return askUntilAnswered(ask)
  })
  if (done === 'taken') {
    await waitForOtherTab(ask.item)
    // The other tab was closed, or gave way too: then no tab has asked, although the button was pressed.
    const hasOrder = (store.orderOf(ask.item)?.state ?? 'closed') !== 'closed'
    if (!askedElsewhere.has(ask.item) && !hasOrder && tries < LOCK_TRIES_MAX) await askAlone(ask, tries + 1)
    return
  }
  dropAsk(ask.item)
  store.setDoing(ask.item, done)
}

async function waitForOtherTab(item: string): Promise<void> {
  store.setDoing(item, { kind: 'sending', tries: 0, elsewhere: true })
  await whenFree(`ask.${item}`)
  await loadOrders()
  store.setDoing(item, NOTHING)
}

/** What the page does next about this item, once the server has answered. */
async function askUntilAnswered(ask: Ask): Promise<Doing> {
  const asking: Asking = { ask, tries: 0, newTicket: false, newSession: false }
  if (store.session.kind === 'unknown') await findSession()
  for (;;) {
    const done = asking.ask.ticket === '' ? await getTicket(asking) : await sendOrder(asking)
    if (done !== undefined) return done
  }
}

/** Undefined: go on, with a ticket or with another try. */
async function getTicket(asking: Asking): Promise<Doing | undefined> {
  const { ask } = asking
  const reply = await ticketFor(ask.sale, ask.item)
  if (reply.kind === 'ok') {
    asking.ask = { ...ask, ticket: reply.body.ticket }
    keepAsk(asking.ask)
    return undefined
  }
  // A session that has just ended may be replaced by a guest's.
  if (reply.kind === 'refused' && reply.code === 'unauthenticated' && !asking.newSession) {
    asking.newSession = true
    await findSession()
    return undefined
  }
  return refusalOrPause(asking, reply)
}

/** Undefined: go on with another try, perhaps with a new ticket. */
async function sendOrder(asking: Asking): Promise<Doing | undefined> {
  const { ask } = asking
  const reply = await call<Order>('POST', `/api/sales/${ask.sale}/items/${ask.item}/orders`, {
    bearer: ask.ticket,
    ...(ask.quantity > 1 && { body: { quantity: ask.quantity } }),
  })
  noteReply(reply)
  if (reply.kind === 'ok') {
    store.putOrder(reply.body)
    publish({ kind: 'order', order: reply.body })
    // If the order is closed already, the buyer sees why, and the next press gets the next attempt's ticket.
    return NOTHING
  }
  if (reply.kind === 'refused' && reply.code === 'ticket_invalid' && !asking.newTicket) {
    dropTicket(ask.item)
    asking.ask = { ...ask, ticket: '' }
    asking.newTicket = true
    return undefined
  }
  if (reply.kind === 'refused' && reply.code === 'sale_not_open') {
    await measureServerTime(2)
    const waitMs = Date.parse(String(reply.body.opensAt)) - serverNow()
    if (waitMs < NEARLY_OPEN_MS) {
      // Never at once: a server whose clock differs must not be flooded.
      await sleep(Math.max(waitMs, backOffMs(0, Math.random())))
      return undefined
    }
  }
  return refusalOrPause(asking, reply)
}

async function refusalOrPause(
  asking: Asking,
  reply: Exclude<Reply<unknown>, { kind: 'ok' }>,
): Promise<Doing | undefined> {
  const refused = reply.kind === 'refused' ? refusal(asking.ask, reply, asking.tries) : undefined
  if (refused !== undefined) return refused
  const retryAfterMs = (reply.kind === 'refused' ? reply.retryAfterMs : undefined) ?? 0
  const waitMs = Math.max(retryAfterMs * (1 + Math.random() / 2), backOffMs(asking.tries, Math.random()))
  asking.tries += 1
  store.setDoing(asking.ask.item, { kind: 'sending', tries: asking.tries, elsewhere: false })
  await Promise.race([sleep(waitMs), backOnline()])
  return undefined
}

/** What a refusal means for the button; undefined when it says nothing about the ask, which is then sent again. */
function refusal(ask: Ask, { code, status, retryAfterMs, body }: Refused, tries: number): Doing | undefined {
  const sale = store.sales.get(ask.sale)
  const cooling: Doing = { kind: 'cooling', untilMs: serverNow() + COOL_DOWN_MS, why: code }
  switch (code) {
    case 'sold_out':
      store.putLeft(ask.sale, ask.item, 0)
      return cooling
    case 'not_enough':
      store.putLeft(ask.sale, ask.item, Number(body.left))
      return cooling
    case 'sale_paused':
      if (sale !== undefined) store.putSale({ ...sale, state: 'paused' })
      return cooling
    case 'sale_over':
      if (sale !== undefined) store.putSale({ ...sale, state: 'over' })
      return NOTHING
    case 'hold_limit':
      return { ...cooling, untilMs: serverNow() + HOLD_LIMIT_MS }
    case 'attempts_used':
      return { kind: 'attempts_used' }
    case 'unauthenticated':
      return NOTHING
    case 'rate_limited':
      // An earlier try may still take effect: only its answer ends the ask.
      return tries > 0 ? undefined : { kind: 'limited', untilMs: serverNow() + (retryAfterMs ?? 1_000) }
    case 'busy':
      return undefined
    default:
      if (status >= 500) return undefined
      void loadSale(ask.sale)
      return cooling
  }
}

/** A buyer who was offline does not wait for the end of the pause. */
function backOnline(): Promise<void> {
  return new Promise(resolve => window.addEventListener('online', () => resolve(), { once: true }))
}
