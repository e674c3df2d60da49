/**
 * Tickets, and asks that were begun, kept in this tab across a reload: an ask whose answer was lost is asked again with the very same
 * ticket, so it ends on the order it made. Kept per buyer: a ticket acts for whoever it was given to, whoever sits here now.
 */

import type { Ticket } from './shapes.ts'
import { store } from './store.ts'

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

export function keptTicket(item: string): Ticket | undefined {
  return read<Ticket>(TICKETS + here(item))
}

export function keepTicket(item: string, ticket: Ticket): void {
  write(TICKETS + here(item), ticket)
  store.setReady(item, true)
}

export function dropTicket(item: string): void {
  write(TICKETS + here(item), undefined)
  store.setReady(item, false)
}

export function keepAsk(ask: Ask): void {
  write(ASKS + here(ask.item), ask)
}

export function dropAsk(item: string): void {
  write(ASKS + here(item), undefined)
}

/** This buyer's asks that were under way when the page was left. */
export function keptAsks(): readonly Ask[] {
  const mine = ASKS + here('')
  return keys()
    .filter(key => key.startsWith(mine))
    .flatMap(key => read<Ask>(key) ?? [])
}

/** A line break can't be part of a buyer's id, so no buyer's keys begin like another's. */
function here(item: string): string {
  return `${store.session.kind === 'in' ? store.session.buyer : ''}\n${item}`
}

/** What a browser keeps that keeps nothing (private windows, full storage): only the memory across a reload is lost. */
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
