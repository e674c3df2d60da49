/** Which trace an order belongs to, of those that are traced. Kept for a week; nothing but traces depends on it. */

import type { TraceParent, Traces } from '../base/trace.ts'
import type { OrderId } from '../domain/ids.ts'

export interface OrderTraces {
  note(traces: readonly (readonly [OrderId, TraceParent])[]): Promise<void>
  /** Forgets what is older than a week; at most so many are looked at. */
  sweep(rowsMax: number): Promise<void>
  find(orders: readonly OrderId[]): Promise<Traces>
}
