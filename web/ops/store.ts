/** What the page knows, and who wants to hear when it changes. Everything here can be had again from the server. */

import type { TypedSale } from './sale-form.ts'
import type { LogLine, Sale, Trouble } from './shapes.ts'

/** What an action came to, in words: shown until it is sent away or followed by the next. */
interface Note {
  readonly kind: 'done' | 'failed'
  readonly text: string
  readonly atMs: number
}

interface Typing {
  /** The draft's id; empty for a new sale. */
  readonly of: string
  readonly sale: TypedSale
  /** Under which it is sent. */
  readonly key: string
}

const listeners = new Set<() => void>()

export const store = {
  /** Undefined: not asked yet; null: nobody is signed in. */
  operator: undefined as string | null | undefined,
  /** It was asked, and nothing that makes sense came back yet. */
  operatorUnanswered: false,
  /** The session ended while somebody was at work. */
  expired: false,
  sales: undefined as readonly Sale[] | undefined,
  /** Undefined until the server has said so for the first time. */
  trouble: undefined as readonly Trouble[] | undefined,
  /** When the server last answered, by this device's clock, and since when it does not. */
  answeredAtMs: 0,
  unreachableSinceMs: undefined as number | undefined,
  note: undefined as Note | undefined,
  /** A sale on the form, not sent yet: it outlives the session of whoever types it. */
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

export function tell(kind: Note['kind'], text: string): void {
  store.note = { kind, text, atMs: serverNow() }
  store.changed()
}

/** Everything that belongs to whoever was signed in. */
export function forget(): void {
  store.operator = null
  store.sales = undefined
  store.trouble = undefined
  store.log = []
  store.logLoaded = false
  store.note = undefined
}
