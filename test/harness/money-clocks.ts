/**
 * Both clocks of a site, the server's and PostgreSQL's, stepped while they run, as when somebody sets the clock of the machine.
 * The server's through `money-clock.preload.ts`; PostgreSQL's through functions that stand before its own in the search path.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from './money-books.ts'
import type { MoneyStage } from './money-stage.ts'
import { until } from './until.ts'

/** From the project's root, where the server starts: a path with a space in it would be two options. */
const PRELOAD = './test/harness/money-clock.preload.ts'

export class Clocks {
  readonly #folder: string
  readonly env: Readonly<Record<string, string>>

  /** `env` is for a server that is going to be stepped. */
  constructor(folder: string) {
    this.#folder = folder
    this.#write(0)
    this.env = { BUN_OPTIONS: `--preload=${PRELOAD}`, CLOCK_OFFSET_FILE: this.#file() }
  }

  /** Prepares PostgreSQL, and starts the server again: only new connections look through the new search path. */
  async prepare(stage: MoneyStage): Promise<void> {
    for (const statement of [
      'CREATE SCHEMA stepped',
      'CREATE TABLE stepped.by (ms bigint NOT NULL)',
      'INSERT INTO stepped.by VALUES (0)',
      `CREATE FUNCTION stepped.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
        $$ SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM stepped.by) * interval '1 millisecond' $$`,
      `CREATE FUNCTION stepped.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
        $$ SELECT pg_catalog.statement_timestamp() + (SELECT ms FROM stepped.by) * interval '1 millisecond' $$`,
      'ALTER TABLE releases ALTER COLUMN at SET DEFAULT stepped.clock_timestamp()',
      'ALTER TABLE payments ALTER COLUMN started_at SET DEFAULT stepped.clock_timestamp()',
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, stepped, pg_catalog', current_database()); END $$`,
      // Hours of clock must fit into the sale.
      "UPDATE sales SET opens_at = opens_at - interval '1 day', closes_at = closes_at + interval '1 day'",
    ])
      await sql(stage.dataDir, statement)
    await stage.site.server().kill()
    await stage.site.startAgain('')
  }

  /** Both clocks are `ms` beside the real time when this returns: a signal takes its time, so the server says when it has heard it. */
  async step(stage: MoneyStage, ms: number): Promise<void> {
    this.#write(ms)
    process.kill(stage.site.server().pid, 'SIGUSR2')
    await sql(stage.dataDir, 'UPDATE stepped.by SET ms = $1', [ms])
    // Not by /api/time: the time it tells never goes back.
    await until('the step of the server’s clock', () => readFileSync(`${this.#file()}.heard`, 'utf8') === String(ms))
  }

  #file(): string {
    return join(this.#folder, 'clock-offset')
  }

  #write(ms: number): void {
    writeFileSync(this.#file(), String(ms))
  }
}
