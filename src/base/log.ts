/** The log, as a port. One event, one line, with a stable name; structured, so that a machine can read it too; secrets and tokens never go in. */

import type { LogEvent, OutageEvent } from './log-events.ts'

type Fields<Event extends string> = Readonly<Record<string, unknown>> & { readonly event: Event }

export interface Log {
  debug(fields: Fields<LogEvent<'debug'>>, message: string): void
  info(fields: Fields<LogEvent<'info'>>, message: string): void
  warn(fields: Fields<LogEvent<'warn'> | OutageEvent>, message: string): void
  error(fields: Fields<LogEvent<'error'> | OutageEvent>, message: string): void
}

/** What should never happen and must not go unseen. */
export type Alarm<What extends string> = (what: What, fields: Readonly<Record<string, unknown>>) => void
