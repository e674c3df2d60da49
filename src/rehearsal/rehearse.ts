/**
 * One rehearsal, from an empty stage to its verdict: a sale of its own, what is played on it (`play.ts`), its end, and what it came to.
 * What keeps it from beginning is a Fault. Leaves nothing open: however it ends, the sale is ended, or it is said that it is not. One on
 * a throwaway server goes with the server.
 */

import { availableParallelism, cpus } from 'node:os'
import { type Clock, toRfc3339 } from '../base/clock.ts'
import { checkOpenFiles } from './client/open-files.ts'
import { targetOf } from './crowd/connections.ts'
import { Tally } from './crowd/tally.ts'
import { CALM, HURT, SPREAD } from './patience.ts'
import { STIR_MS } from './plan/plan.ts'
import { play } from './play.ts'
import { Board, type Progress, watchOver } from './progress.ts'
import type { RehearsalOptions } from './rehearsal-options.ts'
import type { Rehearsal } from './result.ts'
import { endSale, stillOpen } from './stage/ending.ts'
import { createStage } from './stage/stage.ts'
import { shardsNote } from './verdict/notes.ts'
import { summarize } from './verdict/summary.ts'

interface RehearseParts {
  readonly clock: Clock
  readonly stop: AbortSignal
  readonly watch: (progress: Progress) => void
  readonly say: (line: string) => void
  /** What whoever is cut off from here on must leave word of; nothing any more when undefined. */
  readonly owe: (line: string | undefined) => void
}

const OPENING_MS_FIRST = 3_500
const TICKETS_PER_MS = 8
const BOT_CONNECTIONS_MAX = 50

export async function rehearse(options: RehearsalOptions, parts: RehearseParts): Promise<Rehearsal> {
  const { clock, stop, say } = parts
  const { place, buyers } = options
  const bots = Math.min(BOT_CONNECTIONS_MAX, Math.ceil(buyers * options.mix.bots))
  checkOpenFiles(options.connections + bots)
  const patience = options.fault !== undefined ? HURT : options.shards > 1 ? SPREAD : CALM
  const stage = createStage(place, clock, { stop })
  const { serverMsAtZero } = await stage.meet()
  const serverNow = () => clock.elapsed() + serverMsAtZero
  const startedAt = toRfc3339(serverNow())
  const notes = shardsNote(options)
  for (const note of notes) say(note)
  const { target, note } = targetOf(place.url)
  if (note !== undefined) notes.push(note)
  const sale = await stage.create(
    options.units,
    options.shards,
    serverNow() + OPENING_MS_FIRST + buyers / TICKETS_PER_MS,
  )
  const tally = new Tally(-STIR_MS)
  const board = new Board(tally)
  board.show('connecting', 0, options.connections)
  const over = new AbortController()
  void watchOver(board, clock, over.signal, parts.watch)
  const lasting = options.kind === 'running'
  if (lasting) parts.owe(stillOpen(place, sale.sale))
  let open: string | undefined
  let played: Awaited<ReturnType<typeof play>>
  try {
    await stage.publish(sale.sale)
    const scene = { stage, sale, target, bots, serverMsAtZero }
    played = await play(options, { clock, stop, say, board, tally, notes, patience, ...scene })
  } finally {
    const ending = { place, clock, sale: sale.sale, patienceMs: patience.operatorMsMax, stop }
    open = lasting ? await endSale(ending) : undefined
    over.abort()
    parts.owe(undefined)
    if (open !== undefined) say(open)
  }
  if (open !== undefined) notes.push(open)
  // Not finished: something of it is still there.
  const partial = played.partial ?? open ?? null
  return summarize({ options, startedAt, sale, tally, notes, ...played, partial, machine: machine() })
}

function machine(): string {
  return `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}`
}
