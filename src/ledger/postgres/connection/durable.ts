/**
 * What a PostgreSQL must keep for `201` to be a promise. `synchronous_commit = off` (of the server, the role or the database) is raised to
 * `on` for every connection; a stricter level stays. A server that may lose what it has confirmed all the same stops the start; one that
 * may lose it in rare cases, or whose indexes were built by another order of letters, is warned about.
 */

import type pg from 'pg'
import { Fault } from '../../../base/fault.ts'
import type { Log } from '../../../base/log.ts'

type Queryable = Pick<pg.ClientBase, 'query'>

/** For a new connection. */
export const RAISE_COMMIT = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`

const SETTINGS = `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('synchronous_commit') AS commit, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages`

/**
 * Buyers' ids are compared in the database's collation, and a new version of it may order them differently: a unique index then finds no
 * duplicates. Before PostgreSQL 15 the version is not kept.
 */
export const STALE_COLLATION = `SELECT datname AS name, datcollversion AS made, pg_database_collation_actual_version(oid) AS here
  FROM pg_database WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)`
export const collationAdvice = (name: string) =>
  `REINDEX DATABASE "${name}"; ALTER DATABASE "${name}" REFRESH COLLATION VERSION`
export const COLLATION_VERSION_MIN = 15

/** Of a connection on which `RAISE_COMMIT` was run. */
export async function requireDurable(client: Queryable, log: Pick<Log, 'warn'>): Promise<void> {
  const { rows } = await client.query<{ major: number; commit: string; fsync: string; pages: string }>(SETTINGS)
  const [found] = rows
  if (found?.fsync === 'off')
    throw notDurable('fsync is off: this PostgreSQL writes nothing to disk before it confirms')
  if (found?.commit === 'off')
    throw notDurable(
      'synchronous_commit is off, and a connection could not set it to on (a pooler in between may do that)',
    )
  if (found?.pages === 'off')
    log.warn(
      { event: 'full_page_writes_off' },
      'full_page_writes is off: unless its file system never tears a page, this PostgreSQL can lose orders in a power cut (ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf())',
    )
  if ((found?.major ?? 0) < COLLATION_VERSION_MIN) return
  const stale = await client.query<{ name: string; made: string; here: string }>(STALE_COLLATION)
  for (const { name, made, here } of stale.rows)
    log.warn(
      { event: 'collation_changed', made, here },
      `the database's collation has another version than its indexes were built with, so they may miss orders that exist: ${collationAdvice(name)}`,
    )
}

function notDurable(what: string): Fault {
  return new Fault(
    'ledger_not_durable',
    `${what}, so an order that a buyer was told of could be lost in a crash. Set it to on (ALTER SYSTEM SET …; SELECT pg_reload_conf()), then start again`,
  )
}
