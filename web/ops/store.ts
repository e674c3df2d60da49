/** The state of the page and its listeners. Everything here can be read again from the server. */

import { isAtLeast, type LogLine, type OperatorRole, type Sale, type Trouble } from './shapes.ts'
import type { TypedSale } from './views/sale-form/typed-sale.ts'

/** The result of an action: shown until it is dismissed or replaced by the next. */
interface Note {
  readonly kind: 'done' | 'failed'
  readonly text: string
  readonly atMs: number
}

interface Typing {
  /** The draft's id; empty for a new sale. */
  readonly of: string
  readonly sale: TypedSale
  /** Its idempotency key. */
  readonly key: string
}

const listeners = new Set<() => void>()

export const store = {
  /** Undefined: not read yet; null: signed out. */
  operator: undefined as string | null | undefined,
  /** What the operator may do; null: signed out. The server decides: this only hides what it would refuse. */
  role: null as OperatorRole | null,
  /** The session was requested, and there is no valid answer yet. */
  operatorUnanswered: false,
  /** The session ended while the operator was working. */
  expired: false,
  sales: undefined as readonly Sale[] | undefined,
  /** Undefined until it was read for the first time. */
  trouble: undefined as readonly Trouble[] | undefined,
  /** When the server last answered, by this device's clock, and since when it does not. */
  answeredAtMs: 0,
  unreachableSinceMs: undefined as number | undefined,
  note: undefined as Note | undefined,
  /** A sale on the form that was not sent yet: it survives the end of the session. */
  typing: undefined as Typing | undefined,
  log: [] as readonly LogLine[],
  logLoaded: false,
  /** Milliseconds to add to this device's clock. */
  offsetMs: 0,

  subscribe(listen: () => void): () => void {
    listeners.add(listen)
    return () => void listeners.delete(listen)
  },
  changed(): void {
    for (const listen of listeners) listen()
  },
}

export function serverNow(): number {
  return Date.now() + store.offsetMs
}

/** May the operator run sales and change orders? */
export function mayRun(): boolean {
  return store.role !== null && isAtLeast(store.role, 'operator')
}

/** May the operator decide where events go? */
export function mayManage(): boolean {
  return store.role !== null && isAtLeast(store.role, 'admin')
}

export function notify(kind: Note['kind'], text: string): void {
  store.note = { kind, text, atMs: serverNow() }
  store.changed()
}

/** Clears everything that belongs to the signed-in operator. */
export function forget(): void {
  store.operator = null
  store.role = null
  store.sales = undefined
  store.trouble = undefined
  store.log = []
  store.logLoaded = false
  store.note = undefined
}
