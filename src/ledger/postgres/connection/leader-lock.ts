/**
 * The leader lock: the right to act alone on this ledger, as the sole process with its gate in memory or as the keeper of a cluster. A
 * session-level advisory lock on a connection of its own. One process holds it; another waits, and follows within seconds when the first ends,
 * is stopped, or is cut off.
 *
 * The holder queries its connection every second and believes in the lock for BELIEVED_MS after it sent a query that was answered. The server
 * waits longer than that for the next query and then ends the session: a process that is stopped or cut off stops believing in the lock before
 * another can have it. What it began before is not undone by this: the items' epochs fence that.
 *
 * States: waiting → holding → lost (the connection died or stopped answering) → waiting …; giving back ends it.
 */

import type pg from 'pg'
import type { Clock } from '../../../base/clock.ts'
import type { Database } from './database.ts'

/** Differs from the migration lock; one per database is enough. */
const LEADER_LOCK = 7_283_002
const POLL_MS = 200
const CONFIRM_EVERY_MS = 1_000
const SILENT_MS_MAX = 2_000
const BELIEVED_MS = 3_000
/** Far enough beyond BELIEVED_MS for a server whose clock runs fast. */
const SERVER_WAITS_MS = 8_000

export function createLeaderLock(database: Database, clock: Clock) {
  /** A connection that is open and does not hold the lock. */
  let candidate: pg.Client | undefined
  let holder: pg.Client | undefined
  let confirmedMs = 0
  let listener: () => void = () => {}

  function drop(dead: pg.Client): void {
    if (candidate === dead) candidate = undefined
    const held = holder === dead
    if (held) holder = undefined
    // Not awaited: a connection that does not answer may take long to end, and the loss is known now.
    void dead.end().catch(() => {})
    if (held) listener()
  }

  /** Undefined: no answer in time, or an error. The connection is dropped then. */
  async function query(client: pg.Client, text: string, values: unknown[] = []) {
    const answered = new AbortController()
    const rows = await Promise.race([
      client.query<Record<string, unknown>>(text, values).then(
        result => result.rows,
        () => undefined,
      ),
      clock.sleep(SILENT_MS_MAX, answered.signal).then(() => undefined),
    ])
    answered.abort()
    if (rows === undefined) drop(client)
    return rows
  }

  async function open(): Promise<pg.Client | undefined> {
    let opened: pg.Client
    try {
      opened = await database.connect()
    } catch {
      return undefined
    }
    opened.on('error', () => drop(opened))
    opened.on('end', () => drop(opened))
    candidate = opened
    return (await query(opened, `SET idle_session_timeout = ${SERVER_WAITS_MS}`)) === undefined ? undefined : opened
  }

  async function confirm(held: pg.Client): Promise<void> {
    while (holder === held) {
      await clock.sleep(CONFIRM_EVERY_MS)
      if (holder !== held) return
      const sentMs = clock.elapsed()
      if ((await query(held, 'SELECT 1')) !== undefined) confirmedMs = sentMs
    }
  }

  async function tryOnce(): Promise<'held' | 'taken' | 'away'> {
    const client = candidate ?? (await open())
    if (client === undefined) return 'away'
    const sentMs = clock.elapsed()
    const rows = await query(client, 'SELECT pg_try_advisory_lock($1) AS got', [LEADER_LOCK])
    if (rows === undefined || candidate !== client) return 'away'
    if (rows[0]?.got !== true) return 'taken'
    candidate = undefined
    holder = client
    confirmedMs = sentMs
    void confirm(client)
    return 'held'
  }

  async function giveBack(): Promise<void> {
    const mine = [holder, candidate]
    holder = undefined
    candidate = undefined
    for (const client of mine) await client?.end().catch(() => {})
  }

  return {
    /** Resolves with true when this process holds the lock, with false when `signal` aborts. `onWait` is called once if another process has it. */
    async acquire(signal: AbortSignal, onWait: () => void): Promise<boolean> {
      let told = false
      while (!signal.aborted) {
        const answer = await tryOnce()
        if (signal.aborted) break
        if (answer === 'held') return true
        if (answer === 'taken' && !told) {
          told = true
          onWait()
        }
        await clock.sleep(POLL_MS, signal)
      }
      await giveBack()
      return false
    },
    /** Confirmed less than BELIEVED_MS ago by the monotonic clock: false for a process that wakes after its successor has started. */
    holds: () => holder !== undefined && clock.elapsed() - confirmedMs < BELIEVED_MS,
    /** Called when the lock was lost without being given back. */
    onLost(next: () => void): void {
      listener = next
    },
    giveBack,
  }
}
