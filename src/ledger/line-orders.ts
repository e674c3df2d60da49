/** Which joins of a line have led to an order. */

import type { SaleId } from '../domain/ids.ts'

export interface LineOrders {
  /** Numbers of joins that count and whose buyers have placed an order of the sale, whatever became of it. At most as many as there are orders. */
  ordered(sale: SaleId): Promise<readonly number[]>
}
