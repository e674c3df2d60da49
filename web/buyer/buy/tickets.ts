/**
 * Tickets, and asks without an answer, kept in this tab across a reload: an ask whose answer was lost is sent again with the same ticket, so
 * it finds the order it made. Kept per buyer: a ticket belongs to the buyer it was given to, even if another has signed in.
 */

import { call, type Reply } from '../api.ts'
import type { Ticket } from '../shapes.ts'
import { store } from '../store.ts'
import { noteReply } from '../sync/loading.ts'
import { serverNow } from '../sync/server-time.ts'
import { solveChallenge } from './challenge.ts'

/** An ask that has no answer yet. */
export interface Ask {
  readonly sale: string
  readonly item: string
  readonly quantity: number
  /** Empty until there is one. */
  readonly ticket: string
}

const ASKS = 'stampede.ask.'
const TICKETS = 'stampede.ticket.'
const fetching = new Map<string, Promise<Reply<Ticket>>>()
/** By item: solved, and not judged yet because the answer was busy or lost. */
const solved = new Map<string, unknown>()

/** The kept ticket, or a new one; concurrent calls share one request. */
export function ticketFor(sale: string, item: string): Promise<Reply<Ticket>> {
  const kept = usableTicket(item)
  if (kept !== undefined) return Promise.resolve({ kind: 'ok', status: 200, body: kept })
  let request = fetching.get(item)
  if (request === undefined) {
    request = fetchTicket(sale, item).finally(() => fetching.delete(item))
    fetching.set(item, request)
  }
  return request
}

async function fetchTicket(sale: string, item: string): Promise<Reply<Ticket>> {
  const path = `/api/sales/${sale}/items/${item}/ticket`
  const send = (challenge: unknown) =>
    call<Ticket>('POST', path, challenge === undefined ? {} : { body: { challenge } })
  let reply = await send(solved.get(item))
  if (reply.kind === 'refused' && reply.code === 'challenge_required') {
    const challenge = await solveChallenge(reply.body)
    solved.set(item, challenge)
    if (challenge !== undefined) reply = await send(challenge)
  }
  const open = reply.kind === 'lost' || (reply.kind === 'refused' && ['busy', 'rate_limited'].includes(reply.code))
  if (!open) solved.delete(item)
  noteReply(reply)
  if (reply.kind === 'ok') {
    write(TICKETS + keyOf(item), reply.body)
    store.setReady(item, true)
  }
  return reply
}

/** A ticket whose attempt is closed, or that has expired, buys nothing any more. */
export function usableTicket(item: string): Ticket | undefined {
  const kept = read<Ticket>(TICKETS + keyOf(item))
  if (kept === undefined) return undefined
  const order = store.orderOf(item)
  const used = order?.state === 'closed' && order.attempt >= kept.attempt
  if (!used && serverNow() < Date.parse(kept.expiresAt)) return kept
  dropTicket(item)
  return undefined
}

export function dropTicket(item: string): void {
  write(TICKETS + keyOf(item), undefined)
  store.setReady(item, false)
}

export function keepAsk(ask: Ask): void {
  write(ASKS + keyOf(ask.item), ask)
}

export function dropAsk(item: string): void {
  write(ASKS + keyOf(item), undefined)
}

/** This buyer's asks that were under way when the page was left. */
export function keptAsks(): readonly Ask[] {
  const mine = ASKS + keyOf('')
  return keys()
    .filter(key => key.startsWith(mine))
    .flatMap(key => read<Ask>(key) ?? [])
}

/** A line break can't be part of a buyer's id, so no buyer's key is the beginning of another's. */
function keyOf(item: string): string {
  return `${store.session.kind === 'in' ? store.session.buyer : ''}\n${item}`
}

/** Where the browser stores nothing (private windows, full storage), only the memory across a reload is lost. */
const memory = new Map<string, string>()

function keys(): readonly string[] {
  try {
    return Object.keys(sessionStorage)
  } catch {
    return [...memory.keys()]
  }
}

function read<T>(key: string): T | undefined {
  try {
    const text = memory.get(key) ?? sessionStorage.getItem(key)
    return text === null ? undefined : (JSON.parse(text) as T)
  } catch {
    return undefined
  }
}

function write(key: string, value: unknown): void {
  const text = value === undefined ? undefined : JSON.stringify(value)
  if (text === undefined) memory.delete(key)
  else memory.set(key, text)
  try {
    if (text === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {}
}
