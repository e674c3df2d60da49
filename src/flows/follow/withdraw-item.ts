/** The gate or the ledger called a live item's epoch stale: nothing is sold under it until a later read shows it active again. */

import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { LiveItem } from '../sell/live-item.ts'
import type { Confirming } from './confirm-epochs.ts'

interface WithdrawContext {
  readonly confirming: Pick<Confirming, 'handOverNow'>
  readonly clock: Clock
  readonly log: Log
}

export function withdrawItem({ confirming, clock, log }: WithdrawContext, live: LiveItem): void {
  if (!live.current) return
  live.current = false
  live.staleAtMs = clock.elapsed()
  confirming.handOverNow(live)
  log.warn({ item: live.item.id, epoch: live.epoch }, 'item withdrawn: its epoch may not sell here any more')
}
