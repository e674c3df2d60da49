/**
 * This process's node id: leased at start, renewed while it lives, given back at the end. If the lease is lost (the process was
 * stopped for longer than it lasts), a new id is leased and the old maker is never used again.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createIdMaker, type IdMaker } from '../base/snowflake.ts'
import type { Nodes } from '../ledger/nodes.ts'

const RENEW_EVERY_MS = 5_000

interface HeldNode {
  readonly ids: Pick<IdMaker, 'next' | 'healthy'>
  readonly stopped: Promise<void>
  giveBack(): Promise<void>
}

export async function holdNode(
  parts: { nodes: Nodes; clock: Clock; random: Random; log: Log },
  signal: AbortSignal,
): Promise<HeldNode> {
  const { nodes, clock, log } = parts
  const holder = Buffer.from(parts.random.bytes(16)).toString('hex')

  async function lease(): Promise<{ node: number; maker: IdMaker }> {
    const { node, fromMs, untilMs } = await nodes.lease(holder, Math.floor(clock.now()))
    return { node, maker: createIdMaker({ clock, node, fromMs, untilMs }) }
  }

  let held = await lease()
  log.info({ node: held.node }, 'node id leased')

  async function renew(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(RENEW_EVERY_MS, signal)
      if (signal.aborted) return
      try {
        const untilMs = await nodes.renew(held.node, holder, Math.floor(clock.now()))
        if (untilMs !== undefined) held.maker.extend(untilMs)
        else {
          held = await lease()
          log.warn({ node: held.node }, 'the lease of the node id had lapsed; leased another')
        }
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        log.warn({ code: error.code, err: error }, 'could not renew the node id; trying again')
      }
    }
  }

  return {
    ids: { next: () => held.maker.next(), healthy: () => held.maker.healthy() },
    stopped: renew(),
    async giveBack() {
      await nodes.giveBack(held.node, holder, held.maker.lastMs()).catch(() => {})
    },
  }
}
