/**
 * This process's node id: leased at start, renewed while the process lives, given back at the end. A lease that lapsed is valid again with the
 * next renewal, unless another process has the id by then (E4, E10): then a new id is leased, and the old id makes no order id any more. So is
 * one whose clock was far ahead and is right again: its own time lies in the future.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { Random } from '../../base/random.ts'
import { createIdMaker } from '../../base/snowflake.ts'
import type { NodeKind, Nodes } from '../../ledger/nodes.ts'

const RENEW_EVERY_MS = 5_000
const OUTAGE_TEXTS = {
  event: 'node_not_renewed',
  begins: 'node id not renewed; trying again',
  lasts: 'node id still not renewed',
  ends: 'node id is renewed again',
} as const

interface NodeParts {
  readonly nodes: Nodes
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly kind?: NodeKind
  /** For how long this process acknowledges after its last read of an epoch (E2). */
  readonly fenceMs?: number
  readonly renewEveryMs?: number
}

export async function holdNode(parts: NodeParts, signal: AbortSignal) {
  const { nodes, clock, log, kind = 'plain', fenceMs = 0, renewEveryMs = RENEW_EVERY_MS } = parts
  const holder = Buffer.from(parts.random.bytes(16)).toString('hex')
  const outage = new OutageLog({ clock, log }, {}, OUTAGE_TEXTS)
  let ended = false
  let renewal: Promise<void> = Promise.resolve()
  let held = await lease()
  log.info({ event: 'node_leased', node: held.node }, 'node id leased')

  async function lease() {
    const askedMs = clock.elapsed()
    const nowMs = Math.floor(clock.now())
    const { node, fromMs, untilMs } = await nodes.lease(holder, nowMs, kind, fenceMs)
    return { node, maker: createIdMaker({ clock, node, fromMs, untilMs }), askedMs, leaseMs: untilMs - nowMs }
  }

  async function renew(): Promise<void> {
    try {
      const askedMs = clock.elapsed()
      const untilMs = await nodes.renew(held.node, holder, Math.floor(clock.now()))
      const behindMs = held.maker.behindMs()
      if (untilMs !== undefined && behindMs <= renewEveryMs) {
        held.maker.extend(untilMs)
        held.askedMs = askedMs
      } else if (!ended) {
        held = await lease()
        const why =
          untilMs === undefined ? 'lost to another process' : 'of no use until the clock has caught up with it'
        log.warn(
          { event: 'node_leased_anew', node: held.node, behindMs },
          `lease of the node id ${why}; leased a new id`,
        )
      }
      outage.worked()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      outage.failed(error)
    }
  }

  async function keepRenewing(): Promise<void> {
    for (;;) {
      await clock.sleep(renewEveryMs, signal)
      if (signal.aborted || ended) return
      renewal = renew()
      await renewal
    }
  }

  return {
    ids: { next: () => held.maker.next(), healthy: () => held.maker.healthy() },
    holder,
    /** The id held now; it changes when the lease is lost. */
    node: () => held.node,
    /** The lease is valid as far as this process knows, counted from when it was asked for; and ids can be made. */
    healthy: () => clock.elapsed() - held.askedMs < held.leaseMs && held.maker.healthy(),
    stopped: keepRenewing(),
    /** Only when nothing is held that is not in the ledger; otherwise the lease is left to lapse. */
    async giveBack() {
      ended = true
      // A renewal in flight may be leasing a new id: then that one is given back.
      await renewal.catch(() => {})
      await nodes.giveBack(held.node, holder, held.maker.lastMs()).catch(() => {})
    },
  }
}
