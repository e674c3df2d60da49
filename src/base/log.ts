/** The log, as a port. Structured, so that a machine can read it too; secrets and tokens never go in. */

export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** What should never happen and must not go unseen. */
export type Alarm<What extends string> = (what: What, fields: Readonly<Record<string, unknown>>) => void
