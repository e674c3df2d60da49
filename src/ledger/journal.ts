/**
 * What is written once and never changed: what operators did, the keys under which they repeat a call safely, and outbox entries that could
 * not be placed (dead letters).
 */

import type { Epoch, ItemId, OrderId, SaleId } from '../domain/ids.ts'

export interface LogLine {
  readonly id: string
  readonly atMs: number
  readonly by: string
  readonly action: string
  readonly sale: SaleId | undefined
  readonly item: ItemId | undefined
  readonly order: OrderId | undefined
  readonly details: unknown
}

type LogEntry = Pick<LogLine, 'by' | 'action'> &
  Partial<Pick<LogLine, 'sale' | 'item' | 'order'>> & { readonly details?: Readonly<Record<string, unknown>> }

interface LogQuery extends Partial<Pick<LogLine, 'sale' | 'order'>> {
  readonly after: string
  readonly limit: number
}

export interface DeadLetter {
  readonly item: ItemId
  readonly epoch: Epoch
  /** The outbox entry it came from; `hand-over` where an edge placed what it had acknowledged. */
  readonly entry: string
  /** Undefined: the entry could not be parsed. */
  readonly order: OrderId | undefined
  readonly raw: string
  readonly why: string
}

export interface KeptDeadLetter extends DeadLetter {
  readonly id: string
  readonly atMs: number
}

export interface Journal {
  write(entry: LogEntry): Promise<void>
  read(query: LogQuery): Promise<readonly LogLine[]>
  /** The subject made under this key the first time, and the hash of the body it came with. */
  rememberKey(
    call: string,
    key: string,
    bodyHash: string,
    subject: string,
  ): Promise<{ bodyHash: string; subject: string }>
  /** Written before the entry is taken out of the outbox. The same entry and order again changes nothing, and is false. */
  writeDeadLetter(letter: DeadLetter): Promise<boolean>
  /** Newest first, from this id down; undefined: from the newest. */
  deadLetters(upTo: string | undefined, limit: number): Promise<readonly KeptDeadLetter[]>
}
