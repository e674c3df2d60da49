/** One process does everything: the gate is in it, and a second process on the same ledger stands by until this one is gone. */

import { nextTurn } from '../base/clock.ts'
import type { Loop } from '../base/loop.ts'
import type { DecideParts } from '../flows/decide-batch.ts'
import { demoSale } from '../flows/demo-sale.ts'
import { nearView } from '../flows/gate-view.ts'
import type { Shelf } from '../flows/on-sale.ts'
import { passOnNear } from '../flows/pass-on.ts'
import { type WarmParts, withdraw } from '../flows/warm-sale.ts'
import { createMemoryGate } from '../gate/memory/memory-gate.ts'
import { BATCH_MAX, type GateSide, LINE_MAX, type Selling, type SellingParts } from './selling.ts'

/** Longest time since the ledger last answered before traffic should go elsewhere. */
const LEDGER_SILENT_MS_MAX = 5_000

export function openNear(clock: SellingParts['clock'], shelf: Shelf): GateSide {
  const gate = createMemoryGate({ clock })
  return { gate, near: gate, books: gate, view: nearView(gate, shelf) }
}

export function sellNear(parts: SellingParts, { gate, near }: GateSide): Selling {
  const { config, log, clock, shelf, ledger, node, rounds, watching, signal } = parts
  const { orders, sales, closings, seller } = ledger
  const { meters, news } = watching
  let keeper: Loop | undefined

  const decide: DecideParts = {
    gate,
    orders,
    clock,
    log,
    meters,
    news,
    onStale: onSale => withdraw({ log }, onSale),
    alarm: watching.alarm,
  }
  const warm: WarmParts = {
    gate,
    near,
    orders,
    sales,
    clock,
    log,
    shelf,
    decide,
    maySell: () => seller.holds(),
    shutIdle: onSale => closings.shutIdle(onSale),
    prepare: parts.prepare,
    fenceMs: 0,
    batchMax: BATCH_MAX,
    lineMax: LINE_MAX,
    defer: nextTurn,
  }

  return {
    passOn: passOnNear({ sales, keeper: rounds.keeper, near, shelf }),
    take: {},
    reserved: undefined,
    reconcile: {
      underWay: (item, order) => shelf.get(item)?.unsettled.has(order) ?? false,
      async rebuild(item) {
        const onSale = shelf.get(item)
        if (onSale !== undefined) withdraw({ log }, onSale)
        await rounds.keeper.round()
        return 'rebuilt'
      },
    },
    missing() {
      const missing: string[] = []
      if (!seller.holds()) missing.push('another process sells on this ledger, or the ledger is away')
      const silentMs = keeper?.sinceRoundMs()
      if (silentMs === undefined || silentMs > LEDGER_SILENT_MS_MAX) missing.push('the ledger does not answer')
      return missing
    },
    async start(work, words, stopping) {
      if (!(await seller.acquire(stopping, words.standby))) return false
      seller.onLost(() => {
        // From here another process may sell: what this gate knows is not the last word any more, not even for a "sold out".
        for (const onSale of shelf.values()) withdraw({ log }, onSale)
        // Epochs keep the items safe meanwhile; the keeper notices if somebody took them.
        void seller.acquire(signal, () => {})
      })
      const demo = config.demo ? await demoSale({ sales, ids: node.ids, clock }) : undefined
      if (demo !== undefined) words.demo(demo)
      keeper = await rounds.start({ ...work, warm })
      parts.changed()
      return true
    },
    ended: () => Promise.race([node.stopped, ...rounds.loops.map(loop => loop.stopped)]),
    async stop() {
      await node.giveBack()
      await seller.giveBack()
    },
  }
}
