/**
 * Orders by attempt, many at a time, where no gate can be asked for them: behind the ledger's door a crowd that asks again costs the ledger
 * a few statements, not one each.
 */

import { type Batcher, createBatcher } from '../../base/batcher.ts'
import type { Order } from '../../domain/order.ts'
import type { AttemptKey, Orders } from '../../ledger/orders.ts'

interface FindAttemptsOptions {
  readonly batchMax: number
  readonly queueMax: number
  readonly defer: (fn: () => void) => void
}

export function createAttemptFinder(
  orders: Pick<Orders, 'findByAttempts'>,
  options: FindAttemptsOptions,
): Batcher<AttemptKey, Order | undefined> {
  return createBatcher<AttemptKey, Order | undefined>({
    ...options,
    async run(keys) {
      const found = new Map((await orders.findByAttempts(keys)).map(order => [nameOf(order), order]))
      return keys.map(key => found.get(nameOf(key)))
    },
  })
}

/** Only the last of the three may hold a blank. */
function nameOf({ item, attempt, buyer }: AttemptKey): string {
  return `${item} ${attempt} ${buyer}`
}
