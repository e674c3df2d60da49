/** Who changed what, when: lines are only ever added. And the keys under which operators repeat themselves safely. */

import type { ItemId, OrderId, SaleId } from '../domain/ids.ts'

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

interface LogEntry {
  readonly by: string
  readonly action: string
  readonly sale?: SaleId | undefined
  readonly item?: ItemId | undefined
  readonly order?: OrderId | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

export interface OperatorLog {
  write(entry: LogEntry): Promise<void>
  read(query: {
    readonly after: string
    readonly sale?: SaleId
    readonly order?: OrderId
    readonly limit: number
  }): Promise<readonly LogLine[]>
  /** The subject that was made under this key the first time, and the hash of the body it came with. */
  rememberKey(
    call: string,
    key: string,
    bodyHash: string,
    subject: string,
  ): Promise<{ readonly bodyHash: string; readonly subject: string }>
}
