/**
 * Clients that hang up, in every phase of an order, some politely and some with a reset. What they asked for in full is remembered as
 * told `unknown`; whether it became an order is for the test to find out.
 */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { gauges } from './gauges.ts'
import type { Playground } from './playground.ts'
import { RawSocket, requestText } from './raw-socket.ts'
import type { Shop, ShopSale, Ticket } from './shop.ts'
import { ADMIN_TOKEN, type Stampede } from './stampede.ts'
import { until } from './until.ts'

interface Visited {
  readonly playground: Playground
  readonly server: Stampede
  readonly shop: Shop
  readonly sale: ShopSale
}

const OPERATOR = { authorization: `Bearer ${ADMIN_TOKEN}` }
/** Clients per phase. */
export const HANG_UPS_EACH = 40

/** Every phase of a request, and how to leave in it: half of them with a reset. In the order in which they are done. */
export const HANG_UPS = {
  async 'while waiting for the opening'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    await systemClock.sleep(at.sale.opensAtMs - 80 - systemClock.now())
    sendOrders(at, sockets, tickets)
    await heardBy(at)
    await systemClock.sleep(at.sale.opensAtMs - 30 - systemClock.now())
    const silent = sockets.every(socket => socket.bytesHeard === 0 && !socket.isClosed)
    // On a machine that stands still meanwhile this is a look after the opening, at which somebody may have an answer.
    if (systemClock.now() < at.sale.opensAtMs) expect(silent, 'nobody has an answer before the opening').toBe(true)
    else console.log('  too late to see that nobody has an answer before the opening')
    leave(sockets)
    await until('the opening', () => systemClock.now() > at.sale.opensAtMs)
  },
  async 'after connecting'(at: Visited) {
    leave(await connections(at))
  },
  async 'inside the headers'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    for (const [n, socket] of sockets.entries()) {
      const text = orderText(tickets[n]!)
      socket.send(text.slice(0, Math.floor((text.length * (n + 1)) / (HANG_UPS_EACH + 2))))
    }
    await heardBy(at)
    leave(sockets)
  },
  async 'after the headers'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    for (const [n, socket] of sockets.entries()) socket.send(orderText(tickets[n]!, 14))
    await heardBy(at)
    leave(sockets)
  },
  async 'inside the body'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    // The bytes that are there make a whole JSON text: only the length says that something is missing.
    for (const [n, socket] of sockets.entries()) socket.send(`${orderText(tickets[n]!, 20)}{"quantity":1}`)
    await heardBy(at)
    leave(sockets)
  },
  async 'right after the request'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    sendOrders(at, sockets, tickets)
    leave(sockets)
  },
  async 'while it is at the ledger'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    sendOrders(at, sockets, tickets)
    await heardBy(at)
    // All of them in the line or at the ledger, or it went so fast that somebody is answered already.
    await until('a batch at the ledger', async () => {
      const seen = await gauges(at.server)
      const atLedger = seen('stampede_unsettled')
      const all = atLedger > 0 && atLedger + seen('stampede_line_depth') >= HANG_UPS_EACH
      return all || sockets.some(socket => socket.bytesHeard > 0)
    })
    console.log(`  ${sockets.filter(socket => socket.bytesHeard === 0).length} hang up while they are at the ledger`)
    leave(sockets)
  },
  async 'while the answer is written'(at: Visited, tickets: readonly Ticket[]) {
    const sockets = await connections(at)
    sendOrders(at, sockets, tickets)
    await Promise.all(sockets.map((socket, n) => socket.firstByte().then(() => leave([socket], n))))
    const readers = await connections(at)
    for (const [n, socket] of readers.entries()) {
      const path = n % 4 < 2 ? '/openapi.json' : `/api/admin/sales/${at.sale.id}/orders`
      socket.send(requestText('GET', path, { ...OPERATOR, ...(n % 4 === 3 && { accept: 'text/csv' }) }))
    }
    await Promise.all(readers.map((socket, n) => socket.firstByte().then(() => leave([socket], n))))
  },
} satisfies Record<string, (at: Visited, tickets: readonly Ticket[]) => Promise<void>>

function connections({ playground, server }: Visited): Promise<RawSocket[]> {
  return Promise.all(Array.from({ length: HANG_UPS_EACH }, () => RawSocket.open(playground, server.url())))
}

function leave(sockets: readonly RawSocket[], first = 0): void {
  for (const [n, socket] of sockets.entries()) (n + first) % 2 === 0 ? socket.hangUp() : socket.reset()
}

function sendOrders({ shop }: Visited, sockets: readonly RawSocket[], tickets: readonly Ticket[]): void {
  for (const [n, { buyer, item, attempt, ...ticket }] of tickets.entries()) {
    sockets[n]!.send(orderText({ buyer, item, attempt, ...ticket }, 0))
    const atMs = systemClock.elapsed()
    const told = { buyer, item, attempt, quantity: 1, askedAtMs: atMs, answeredAtMs: atMs }
    shop.told.push({ ...told, answer: { kind: 'unknown' } })
  }
}

/** The server has read what was sent before: it has answered somebody who came later. */
async function heardBy({ server }: Visited): Promise<void> {
  await (await fetch(`${server.url()}/api/time`)).text()
}

function orderText({ sale, item, text }: Ticket, bodyBytes = 0): string {
  const headers = { authorization: `Bearer ${text}`, 'content-length': String(bodyBytes) }
  return requestText('POST', `/api/sales/${sale}/items/${item}/orders`, headers)
}
