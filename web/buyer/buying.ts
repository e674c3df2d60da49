/**
 * From the press of the button to an order or a clear no. One ask at a time for an item, in this tab (a second press finds the first) and
 * in the others (a lock between tabs). An answer that did not come is not a no: the same ticket is sent again, with growing pauses,
 * until the server has said what became of it, also after a reload.
 *
 * nothing → sending → an order | cooling | limited | attempts used; cooling and limited end by themselves.
 */

import { call, type Refused, type Reply } from './api.ts'
import type { Doing } from './button-state.ts'
import { loadOrders, loadSale, noteReply } from './loading.ts'
import { backOffMs } from './moments.ts'
import { measureServerTime, serverNow } from './server-time.ts'
import { findSession } from './session.ts'
import type { Order, Ticket } from './shapes.ts'
import { store } from './store.ts'
import { alone, hearTabs, sleep, tell, whenFree } from './tabs.ts'
import { type Ask, dropAsk, dropTicket, keepAsk, keepTicket, keptAsks, keptTicket } from './tickets.ts'

/** After a no, so that nobody wears out the button. */
const COOL_DOWN_MS = 3_000
/** An opening this near is waited for instead of being told to the buyer. */
const NEARLY_OPEN_MS = 2_000

const NOTHING: Doing = { kind: 'nothing' }

export async function buy(sale: string, item: string, quantity: number): Promise<void> {
  await askAlone({ sale, item, quantity, ticket: '' })
}

/** Goes on with what was under way when the page was left. */
export async function resumeAsks(): Promise<void> {
  await Promise.all(
    keptAsks().map(ask => {
      // Without a ticket nothing was sent: the buyer may press again.
      if (ask.ticket === '') dropAsk(ask.item)
      return ask.ticket === '' ? undefined : askAlone(ask)
    }),
  )
}

export function hearOtherTabs(): void {
  hearTabs(news => {
    if (news.kind === 'order') return store.putOrder(news.order)
    askedElsewhere.add(news.item)
    if (store.doing(news.item).kind !== 'sending') void waitForOtherTab(news.item)
  })
}

/** Items that another tab has said to be asking for, since they were last pressed here. */
const askedElsewhere = new Set<string>()
/** Two tabs that both gave way to the other try again, so often at most. */
const TURNS_MAX = 3

async function askAlone(ask: Ask, turn = 1): Promise<void> {
  if (store.doing(ask.item).kind === 'sending') return
  askedElsewhere.delete(ask.item)
  store.setDoing(ask.item, { kind: 'sending', tries: 0, elsewhere: false })
  const done = await alone(`ask.${ask.item}`, async () => {
    tell({ kind: 'sending', item: ask.item })
    return askUntilAnswered(ask)
  })
  if (done === 'taken') {
    await waitForOtherTab(ask.item)
    // The other tab was gone, or gave way too: then nobody has asked, and somebody has pressed.
    const stands = (store.orderOf(ask.item)?.state ?? 'closed') !== 'closed'
    const nobody = !askedElsewhere.has(ask.item) && !stands
    return nobody && turn < TURNS_MAX ? askAlone(ask, turn + 1) : undefined
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

/** What the page does next about this item, once the server has spoken. */
async function askUntilAnswered(first: Ask): Promise<Doing> {
  let ask = first
  let tries = 0
  let renewed = false
  let found = false
  if (store.session.kind === 'unknown') await findSession()
  for (;;) {
    if (ask.ticket === '') {
      const ticket = await ticketFor(ask.sale, ask.item)
      if (ticket.kind === 'ok') {
        ask = { ...ask, ticket: ticket.body.ticket }
        keepAsk(ask)
      } else {
        // A session that has just ended may be replaced by a guest's.
        if (ticket.kind === 'refused' && ticket.code === 'unauthenticated' && !found) {
          await findSession()
          found = true
          continue
        }
        const no = ticket.kind === 'refused' ? refusal(ask, ticket, tries) : undefined
        if (no !== undefined) return no
        tries = await waitToAskAgain(ask.item, tries, ticket)
        continue
      }
    }
    const reply = await call<Order>('POST', `/api/sales/${ask.sale}/items/${ask.item}/orders`, {
      bearer: ask.ticket,
      ...(ask.quantity > 1 && { body: { quantity: ask.quantity } }),
    })
    noteReply(reply)
    if (reply.kind === 'ok') {
      const order = reply.body
      store.putOrder(order)
      tell({ kind: 'order', order })
      // Closed already: the buyer sees what became of it, and the next press gets the next attempt's ticket.
      return NOTHING
    }
    if (reply.kind === 'refused') {
      if (reply.code === 'ticket_invalid' && !renewed) {
        ask = renew(ask)
        renewed = true
        continue
      }
      if (reply.code === 'sale_not_open') {
        await measureServerTime(2)
        const waitMs = Date.parse(String(reply.body.opensAt)) - serverNow()
        if (waitMs < NEARLY_OPEN_MS) {
          // Never at once: a server that sees it otherwise must not be hammered.
          await sleep(Math.max(waitMs, backOffMs(0, Math.random())))
          continue
        }
      }
      const no = refusal(ask, reply, tries)
      if (no !== undefined) return no
    }
    tries = await waitToAskAgain(ask.item, tries, reply)
  }
}

function renew(ask: Ask): Ask {
  dropTicket(ask.item)
  return { ...ask, ticket: '' }
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
    case 'attempts_used':
      return { kind: 'attempts_used' }
    case 'unauthenticated':
      return NOTHING
    case 'rate_limited':
      // An earlier try may still be on its way: only its answer ends this.
      return tries > 0 ? undefined : { kind: 'limited', untilMs: serverNow() + (retryAfterMs ?? 1_000) }
    case 'busy':
      return undefined
    default:
      if (status >= 500) return undefined
      void loadSale(ask.sale)
      return cooling
  }
}

async function waitToAskAgain(item: string, tries: number, reply: Reply<unknown>): Promise<number> {
  store.setDoing(item, { kind: 'sending', tries: tries + 1, elsewhere: false })
  const retryAfterMs = (reply.kind === 'refused' ? reply.retryAfterMs : undefined) ?? 0
  const waitMs = Math.max(retryAfterMs * (1 + Math.random() / 2), backOffMs(tries, Math.random()))
  await Promise.race([sleep(waitMs), backOnline()])
  return tries + 1
}

/** Whoever was cut off is not made to wait for the next round. */
function backOnline(): Promise<void> {
  return new Promise(resolve => window.addEventListener('online', () => resolve(), { once: true }))
}

const fetching = new Map<string, Promise<Reply<Ticket>>>()

/** The kept one, or a new one; two who ask at the same time get the same. */
export function ticketFor(sale: string, item: string): Promise<Reply<Ticket>> {
  const kept = usableTicket(item)
  if (kept !== undefined) return Promise.resolve({ kind: 'ok', status: 200, body: kept })
  let under = fetching.get(item)
  if (under === undefined) {
    under = fetchTicket(sale, item).finally(() => fetching.delete(item))
    fetching.set(item, under)
  }
  return under
}

async function fetchTicket(sale: string, item: string): Promise<Reply<Ticket>> {
  const reply = await call<Ticket>('POST', `/api/sales/${sale}/items/${item}/ticket`)
  noteReply(reply)
  if (reply.kind === 'ok') keepTicket(item, reply.body)
  return reply
}

/** A ticket whose attempt has come to its end buys nothing more. */
export function usableTicket(item: string): Ticket | undefined {
  const kept = keptTicket(item)
  if (kept === undefined) return undefined
  const order = store.orderOf(item)
  const used = order?.state === 'closed' && order.attempt >= kept.attempt
  if (!used && serverNow() < Date.parse(kept.expiresAt)) return kept
  dropTicket(item)
  return undefined
}
