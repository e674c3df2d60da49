/**
 * This process's node id: leased at start, renewed while it lives, given back at the end. If the lease is lost (the process was
 * stopped for longer than it lasts, and somebody needed the id), a new id is leased and the old maker is never used again.
 * A lease that lapsed and was not handed on stands again with the next renewal: its row still speaks for this process (E4, E10).
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createIdMaker, type IdMaker } from '../base/snowflake.ts'
import type { NodeKind, Nodes } from '../ledger/nodes.ts'

const RENEW_EVERY_MS = 5_000

interface NodeParts {
  readonly nodes: Nodes
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly kind?: NodeKind
  /** For how long this process acknowledges after its last read of an epoch (E2). */
  readonly fenceMs?: number
  readonly renewEveryMs?: number
  /** The lease was lost and another id leased: what was confirmed under the old one is nobody's word any more. */
  readonly onLost?: (node: number) => void
}

interface HeldNode {
  readonly ids: Pick<IdMaker, 'next' | 'healthy'>
  readonly holder: string
  /** The id held now; it changes when the lease is lost. */
  node(): number
  /** The lease stands as far as this process can know, counted from when it was asked for; and ids can be made. */
  healthy(): boolean
  readonly stopped: Promise<void>
  /** Only when nothing is held that is not in the ledger; otherwise the lease is left to lapse. */
  giveBack(): Promise<void>
}

export async function holdNode(parts: NodeParts, signal: AbortSignal): Promise<HeldNode> {
  const { nodes, clock, log, kind = 'plain', fenceMs = 0, renewEveryMs = RENEW_EVERY_MS, onLost } = parts
  const holder = Buffer.from(parts.random.bytes(16)).toString('hex')
  let ended = false
  let underWay: Promise<void> = Promise.resolve()

  async function lease() {
    const askedMs = clock.elapsed()
    const nowMs = Math.floor(clock.now())
    const { node, fromMs, untilMs } = await nodes.lease(holder, nowMs, kind, fenceMs)
    const maker = createIdMaker({ clock, node, fromMs, untilMs })
    return { node, maker, askedMs, leaseMs: untilMs - nowMs }
  }

  let held = await lease()
  log.info({ node: held.node }, 'node id leased')

  async function renewOnce(): Promise<void> {
    try {
      const askedMs = clock.elapsed()
      const untilMs = await nodes.renew(held.node, holder, Math.floor(clock.now()))
      if (untilMs !== undefined) {
        held.maker.extend(untilMs)
        held.askedMs = askedMs
      } else if (!ended) {
        held = await lease()
        log.warn({ node: held.node }, 'the lease of the node id had lapsed; leased another')
        onLost?.(held.node)
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.warn({ code: error.code, err: error }, 'could not renew the node id; trying again')
    }
  }

  async function renew(): Promise<void> {
    while (!signal.aborted && !ended) {
      await clock.sleep(renewEveryMs, signal)
      if (signal.aborted || ended) return
      underWay = renewOnce()
      await underWay
    }
  }

  return {
    ids: { next: () => held.maker.next(), healthy: () => held.maker.healthy() },
    holder,
    node: () => held.node,
    healthy: () => clock.elapsed() - held.askedMs < held.leaseMs && held.maker.healthy(),
    stopped: renew(),
    async giveBack() {
      ended = true
      // A renewal under way may be leasing another id: that one is to be given back then.
      await underWay.catch(() => {})
      await nodes.giveBack(held.node, holder, held.maker.lastMs()).catch(() => {})
    },
  }
}
