/** One process does everything: the gate is in it, and a second process on the same ledger stands by until this one is gone. */

import { nextTurn } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Loop } from '../base/loop.ts'
import { createSharedTimeout } from '../base/shared-timeout.ts'
import type { ItemId } from '../domain/ids.ts'
import { processGateView } from '../flows/check/gate-view.ts'
import { syncStateNear } from '../flows/keep/sync-state.ts'
import { type WarmParts, withdraw } from '../flows/keep/warm-sale.ts'
import { demoSale } from '../flows/operate/demo-sale.ts'
import { type DecideParts, PLACE_WAIT_MS } from '../flows/sell/decide-batch.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import { createMemoryGate } from '../gate/memory/memory-gate.ts'
import type { Nodes } from '../ledger/nodes.ts'
import { BATCH_MAX, type GateSide, QUEUE_MAX, type Selling, type SellingParts, type StartWords } from './selling.ts'

/** Longest time since the ledger last answered before traffic should go elsewhere. */
const LEDGER_SILENT_MS_MAX = 5_000
const LOOK_AGAIN_MS = 1_000

export function openNear(clock: SellingParts['clock'], registry: Registry): GateSide {
  const gate = createMemoryGate({ clock })
  return { gate, near: gate, books: gate, view: processGateView(gate, registry) }
}

export function sellNear(parts: SellingParts, { gate, near }: GateSide): Selling {
  const { config, log, clock, registry, ledger, node, rounds, watching, signal } = parts
  const { orders, rights, sales, leader } = ledger
  const { meters, messages } = watching
  let keeper: Loop | undefined
  /** Edges and workers of a cluster that were seen alive on this ledger at the last look. */
  let ofCluster = 0

  const decide: DecideParts = {
    gate,
    orders,
    clock,
    log,
    meters,
    messages,
    timeout: createSharedTimeout({ clock, ms: PLACE_WAIT_MS }),
    onStale: liveItem => withdraw({ log }, liveItem),
    alarm: watching.alarm,
  }
  const warm: WarmParts = {
    gate,
    near,
    rights: {
      ...rights,
      async raiseEpoch(item) {
        await nobodyElseHolds(ledger.nodes, item)
        return rights.raiseEpoch(item)
      },
    },
    sales,
    clock,
    log,
    registry,
    decide,
    maySell: () => leader.holds(),
    shutIdle: liveItem => rights.shutIdle(liveItem),
    prepare: parts.prepare,
    fenceMs: 0,
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
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
      if (!(await leader.acquire(stopping, () => say('another process sells on this ledger')))) return false
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
      await leader.giveBack()
      if (live !== undefined)
        say('edges or workers of a cluster still run on this ledger; it sells alone when all of them are gone')
      await clock.sleep(LOOK_AGAIN_MS, stopping)
    }
  }

  return {
    syncState: syncStateNear({ sales, keeper: rounds.keeper, near, registry }),
    take: {},
    reserved: undefined,
    unplaced: undefined,
    reconcile: {
      underWay: (item, order) => registry.get(item)?.unsettled.has(order) ?? false,
      async rebuild(item) {
        const liveItem = registry.get(item)
        if (liveItem !== undefined) withdraw({ log }, liveItem)
        await rounds.keeper.round()
        return 'rebuilt'
      },
    },
    missing() {
      const missing: string[] = []
      if (ofCluster > 0) missing.push(`edges or workers of a cluster run on this ledger (${ofCluster})`)
      if (!leader.holds()) missing.push('another process sells on this ledger, or the ledger is away')
      const silentMs = keeper?.sinceRoundMs()
      if (silentMs === undefined || silentMs > LEDGER_SILENT_MS_MAX) missing.push('the ledger does not answer')
      return missing
    },
    async start(work, words, stopping) {
      if (!(await rightToSell(words, stopping))) return false
      leader.onLost(() => {
        // From here another process may sell: what this gate knows is not the last word any more, not even for a "sold out".
        for (const liveItem of registry.values()) withdraw({ log }, liveItem)
        // Epochs keep the items safe meanwhile; the keeper notices if somebody took them.
        void leader.acquire(signal, () => {})
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
      await leader.giveBack()
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
