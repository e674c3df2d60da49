/** One process does everything: the gate is in it, and a second process on the same ledger stands by until this one is gone. */

import { nextTurn } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Loop } from '../base/loop.ts'
import { createPatience } from '../base/patience.ts'
import type { ItemId } from '../domain/ids.ts'
import { type DecideParts, PLACE_WAIT_MS } from '../flows/decide-batch.ts'
import { demoSale } from '../flows/demo-sale.ts'
import { nearView } from '../flows/gate-view.ts'
import type { Shelf } from '../flows/on-sale.ts'
import { passOnNear } from '../flows/pass-on.ts'
import { type WarmParts, withdraw } from '../flows/warm-sale.ts'
import { createMemoryGate } from '../gate/memory/memory-gate.ts'
import type { Nodes } from '../ledger/nodes.ts'
import { BATCH_MAX, type GateSide, LINE_MAX, type Selling, type SellingParts, type StartWords } from './selling.ts'

/** Longest time since the ledger last answered before traffic should go elsewhere. */
const LEDGER_SILENT_MS_MAX = 5_000
const LOOK_AGAIN_MS = 1_000

export function openNear(clock: SellingParts['clock'], shelf: Shelf): GateSide {
  const gate = createMemoryGate({ clock })
  return { gate, near: gate, books: gate, view: nearView(gate, shelf) }
}

export function sellNear(parts: SellingParts, { gate, near }: GateSide): Selling {
  const { config, log, clock, shelf, ledger, node, rounds, watching, signal } = parts
  const { orders, sales, closings, seller } = ledger
  const { meters, news } = watching
  let keeper: Loop | undefined
  /** Edges and workers of a cluster that were seen alive on this ledger at the last look. */
  let ofCluster = 0

  const decide: DecideParts = {
    gate,
    orders,
    clock,
    log,
    meters,
    news,
    patience: createPatience({ clock, ms: PLACE_WAIT_MS }),
    onStale: onSale => withdraw({ log }, onSale),
    alarm: watching.alarm,
  }
  const warm: WarmParts = {
    gate,
    near,
    orders: {
      ...orders,
      async bump(item) {
        await nobodyElseHolds(ledger.nodes, item)
        return orders.bump(item)
      },
    },
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

  /**
   * Had for good only when no edge or worker of a cluster is left on this ledger: what they told buyers would be refused, because a gate in
   * this process waits for nobody's word (E4). Meanwhile it is given back again and again: their keepers need it.
   */
  async function rightToSell(words: StartWords, stopping: AbortSignal): Promise<boolean> {
    const said = new Set<string>()
    const say = (why: string) => {
      if (!said.has(why)) words.standby(why)
      said.add(why)
    }
    for (;;) {
      if (!(await seller.acquire(stopping, () => say('another process sells on this ledger')))) return false
      const { live, unsettled } = await ledger.nodes.holding().catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        return { live: undefined, unsettled: 0 }
      })
      ofCluster = live ?? ofCluster
      if (live === 0) {
        if (unsettled > 0)
          log.warn(
            { unsettled },
            'edges or workers of a cluster went without a word: what they told buyers last may be in Redis alone, and is refused when this ' +
              'process sells the item. To keep it, stop this process, start the cluster again with its Redis, and stop it in order',
          )
        return true
      }
      await seller.giveBack()
      if (live !== undefined)
        say('edges or workers of a cluster still run on this ledger; it sells alone when all of them are gone')
      await clock.sleep(LOOK_AGAIN_MS, stopping)
    }
  }

  return {
    passOn: passOnNear({ sales, keeper: rounds.keeper, near, shelf }),
    take: {},
    reserved: undefined,
    onItsWay: undefined,
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
      if (ofCluster > 0) missing.push(`edges or workers of a cluster run on this ledger (${ofCluster})`)
      if (!seller.holds()) missing.push('another process sells on this ledger, or the ledger is away')
      const silentMs = keeper?.sinceRoundMs()
      if (silentMs === undefined || silentMs > LEDGER_SILENT_MS_MAX) missing.push('the ledger does not answer')
      return missing
    },
    async start(work, words, stopping) {
      if (!(await rightToSell(words, stopping))) return false
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

/**
 * Processes of a cluster may hold reservations that are not in the ledger yet. A gate in this process waits for nobody (E4), so what they
 * told their buyers would be refused: they must have gone in order, or be one's own kind.
 */
async function nobodyElseHolds(nodes: Pick<Nodes, 'unconfirmed'>, item: ItemId): Promise<void> {
  const { waiting, lapsed } = await nodes.unconfirmed(item, Number.MAX_SAFE_INTEGER)
  // Those that have died were warned of at the start (`rightToSell`).
  if (waiting === 0) return
  throw new Fault(
    'cluster_on_this_ledger',
    `a cluster sells on this ledger (${waiting} of its edges and workers run, ${lapsed} have died and may have left reservations in Redis): ` +
      'set REDIS_URL as they have it. To go on without Redis, first run a keeper and a worker until nothing waits in Redis, and stop all of them in order',
    { retryable: true },
  )
}
