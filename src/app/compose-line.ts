/** The waiting lines: what this process knows of them, and, where it leads, who lets people in. */

import { createKeyedHash } from '../admission/rate/keyed-hash.ts'
import { createDrandBeacons } from '../beacon/drand/drand-beacons.ts'
import type { Sale } from '../domain/sale.ts'
import { eachLine } from '../flows/line/each-line.ts'
import { FollowedLines, type SaleWithLine } from '../flows/line/followed-lines.ts'
import { LetIn } from '../flows/line/let-in.ts'
import { DrawRunner } from '../flows/line/run-draws.ts'
import type { ProcessContext } from './process-context.ts'

export function openLines(context: ProcessContext) {
  const nowMs = () => context.view.nowMs()
  const makeHash = () => createKeyedHash(context.random)
  const followedLines = new FollowedLines({ ...context, makeHash, nowMs })
  const letIn = new LetIn({ ...context, followedLines, nowMs })
  const beacons = createDrandBeacons({ hosts: context.config.drandHosts, clock: context.clock })
  const draws = new DrawRunner({ ...context, followedLines, beacons, nowMs })
  /** Also lines that no buyer has asked this process for: a sale shows what its draw has promised from the opening of its line on. */
  async function followLines(): Promise<void> {
    const sales = (await context.catalog.list()).filter(sale => isOpenLine(sale, nowMs()))
    await eachLine([...sales.map(sale => () => followedLines.of(sale)), () => followedLines.round()])
  }
  return { followedLines, followLines, letIn: () => letIn.round(), runDraws: () => draws.round() }
}

function isOpenLine(sale: Sale, nowMs: number): sale is SaleWithLine {
  return sale.line !== undefined && sale.state !== 'over' && nowMs >= sale.line.opensAtMs && nowMs < sale.closesAtMs
}
