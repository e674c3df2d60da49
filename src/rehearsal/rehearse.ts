/**
 * One rehearsal: creates a sale of its own, runs it (`run.ts`), ends it and gives the verdict. What prevents the beginning is a Fault.
 * However it ends, the sale is ended, or a message says that it is still open. On a throwaway server it disappears with the server.
 */

import { availableParallelism, cpus } from 'node:os'
import { type Clock, toRfc3339 } from '../base/clock.ts'
import { checkOpenFiles, targetOf } from './crowd/connections.ts'
import { Tally } from './crowd/tally.ts'
import { endSale, stillOpen } from './operator/end-sale.ts'
import { Operator } from './operator/operator.ts'
import { FIRST_CLICK_MS } from './plan/plan.ts'
import { type Progress, ProgressBoard } from './progress.ts'
import type { Rehearsal, RehearsalOptions } from './result.ts'
import { Run, type RunResult } from './run.ts'
import { NORMAL, SHARDED, WITH_FAULT } from './time-limits.ts'
import { shardsNote, summarize } from './verdict/summary.ts'

interface RehearseParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly watch: (progress: Progress) => void
  readonly print: (line: string) => void
  /** The message to print if this process is killed from here on, because the sale is open; undefined: none any more. */
  readonly setLastMessage: (line: string | undefined) => void
}

const OPENING_MS_FIRST = 3_500
const TICKETS_PER_MS = 8
const BOT_CONNECTIONS_MAX = 50

export async function rehearse(options: RehearsalOptions, parts: RehearseParts): Promise<Rehearsal> {
  const { clock, stop, print } = parts
  const { server, buyers, units, shards, connections, mix } = options
  const bots = Math.min(BOT_CONNECTIONS_MAX, Math.ceil(buyers * mix.bots))
  checkOpenFiles(connections + bots)
  const limits = options.fault !== undefined ? WITH_FAULT : shards > 1 ? SHARDED : NORMAL
  const operator = new Operator(server, clock, { stop })
  const { serverMsAtZero } = await operator.connect()
  const serverNowMs = clock.elapsed() + serverMsAtZero
  const notes = shardsNote(options)
  for (const note of notes) print(note)
  const { target, note } = targetOf(server.url)
  if (note !== undefined) notes.push(note)
  const sale = await operator.create(units, shards, serverNowMs + OPENING_MS_FIRST + buyers / TICKETS_PER_MS)
  const tally = new Tally(-FIRST_CLICK_MS)
  const board = new ProgressBoard(tally)
  board.show('connecting', 0, connections)
  const over = new AbortController()
  void board.report(clock, over.signal, parts.watch)
  const keepsRunning = options.kind === 'running'
  if (keepsRunning) parts.setLastMessage(stillOpen(server, sale.sale))
  let open: string | undefined
  let result: RunResult
  try {
    await operator.publish(sale.sale)
    const scene = { operator, sale, target, bots, serverMsAtZero }
    result = await new Run(options, { clock, stop, print, board, tally, notes, limits, ...scene }).play()
  } finally {
    const ending = { server, clock, sale: sale.sale, retryMs: limits.operatorMsMax, stop }
    open = keepsRunning ? await endSale(ending) : undefined
    over.abort()
    parts.setLastMessage(undefined)
    if (open !== undefined) print(open)
  }
  if (open !== undefined) notes.push(open)
  const machine = `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}`
  const startedAt = toRfc3339(serverNowMs)
  // A sale that is still open makes the result partial.
  return summarize({
    options,
    startedAt,
    sale,
    tally,
    notes,
    ...result,
    partial: result.partial ?? open ?? null,
    machine,
  })
}
