/**
 * The sole-seller right as a session-level advisory lock on a connection of its own.
 * That connection is asked now and then whether it lives: one that fell silent on the way (a router that forgot it) is dropped, because
 * the server may have given the right to somebody else long ago.
 * States: waiting → holding → lost (the connection died) → waiting …; giving back ends it.
 */

import type pg from 'pg'
import type { Clock } from '../../base/clock.ts'
import type { SoleSeller } from '../sole-seller.ts'
import type { Database } from './database.ts'

/** Differs from the migration lock; one per database is enough. */
const SELLER_LOCK = 7_283_002
const ASK_AGAIN_MS = 200
const CONFIRM_EVERY_MS = 1_000
const SILENT_MS_MAX = 2_000

export function createSoleSeller(database: Database, clock: Clock): SoleSeller {
  let client: pg.Client | undefined
  let listener: () => void = () => {}

  const drop = async (dead: pg.Client) => {
    const held = client === dead
    if (held) client = undefined
    await dead.end().catch(() => {})
    if (held) listener()
  }

  const confirm = async (held: pg.Client) => {
    while (client === held) {
      await clock.sleep(CONFIRM_EVERY_MS)
      if (client !== held) return
      const answered = new AbortController()
      const lives = await Promise.race([
        held.query('SELECT 1').then(
          () => true,
          () => false,
        ),
        clock.sleep(SILENT_MS_MAX, answered.signal).then(() => false),
      ])
      answered.abort()
      if (!lives) await drop(held)
    }
  }

  const tryOnce = async (): Promise<'held' | 'taken' | 'away'> => {
    let candidate: pg.Client
    try {
      candidate = await database.connect()
    } catch {
      return 'away'
    }
    try {
      const { rows } = await candidate.query<{ got: boolean }>('SELECT pg_try_advisory_lock($1) AS got', [SELLER_LOCK])
      if (rows[0]?.got === true) {
        client = candidate
        candidate.on('error', () => void drop(candidate))
        candidate.on('end', () => void drop(candidate))
        void confirm(candidate)
        return 'held'
      }
    } catch {
      await candidate.end().catch(() => {})
      return 'away'
    }
    await candidate.end().catch(() => {})
    return 'taken'
  }

  return {
    async acquire(signal, onWait) {
      let told = false
      while (!signal.aborted) {
        const answer = await tryOnce()
        if (answer === 'held') return true
        if (answer === 'taken' && !told) {
          told = true
          onWait()
        }
        await clock.sleep(ASK_AGAIN_MS, signal)
      }
      return false
    },
    holds: () => client !== undefined,
    onLost(next) {
      listener = next
    },
    async giveBack() {
      const mine = client
      client = undefined
      await mine?.end().catch(() => {})
    },
  }
}
