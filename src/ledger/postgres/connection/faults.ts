/**
 * Failures of PostgreSQL and of the connection to it, in one table: which may be retried, after which the outcome is unknown (the statement may
 * have been committed although no answer came), and which the operator must fix. Every other error is a bug and is passed on as it is.
 */

import { Fault } from '../../../base/fault.ts'

type Kind = { readonly code: string; readonly outcomeUnknown: boolean }

const AWAY: Kind = { code: 'ledger_away', outcomeUnknown: true }
const NOT_REACHED: Kind = { code: 'ledger_away', outcomeUnknown: false }
const COLLIDED: Kind = { code: 'ledger_collision', outcomeUnknown: false }

/** By SQLSTATE, or by the system's error code where no server answered; the first that fits. All are retryable. */
const CODES: readonly (readonly [RegExp, Kind])[] = [
  // serialization_failure, deadlock_detected, lock_not_available
  [/^(40001|40P01|55P03)$/, COLLIDED],
  // too_many_connections, cannot_connect_now (starting up or shutting down)
  [/^(53300|57P03)$/, NOT_REACHED],
  // By class: the server can't do it now (no room, no memory, a bad disk), or a pooler lost the connection.
  [/^(08|53|58)\w{3}$/, AWAY],
  // query_canceled (by the statement's time limit), admin_shutdown, crash_shutdown, idle_session_timeout
  [/^(57014|57P01|57P02|57P05)$/, AWAY],
  // idle_in_transaction_session_timeout and transaction_timeout (this process was stopped in a transaction)
  [/^(25P03|25P04)$/, AWAY],
  // read_only_sql_transaction: the server is a standby
  [/^25006$/, AWAY],
  [/^(ECONNREFUSED|ENOENT|EAI_AGAIN|ENOTFOUND|EADDRNOTAVAIL)$/, NOT_REACHED],
  // A unix socket whose backlog is full; all descriptors or buffers are in use.
  [/^(EAGAIN|EMFILE|ENFILE|ENOBUFS)$/, NOT_REACHED],
  [/^(EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ECONNABORTED|ETIMEDOUT|ECONNRESET|EPIPE)$/, AWAY],
]

/** `pg` reports these without a code. */
const MESSAGES: readonly (readonly [RegExp, Kind])[] = [
  // The pool's text, and a single client's.
  [/timeout exceeded when trying to connect|^timeout expired$/i, NOT_REACHED],
  [/connection terminated|connection ended|not queryable|client has encountered a connection error/i, AWAY],
  [/client was closed|query read timeout/i, AWAY],
]

/** `pg`'s own texts: for waiting for a connection, and for an answer. */
const TIMED_OUT = /timeout exceeded when trying to connect|query read timeout/i

/**
 * The server answers and refuses access. Nothing was done; the address must be fixed.
 * invalid_password, invalid_authorization_specification, invalid_catalog_name (no such database), insufficient_privilege.
 */
const REFUSED = /^(28P01|28000|3D000|42501)$/

export function toFault(error: unknown): unknown {
  if (error instanceof Fault || !(error instanceof Error)) return error
  const code = String((error as { code?: unknown }).code)
  const found = CODES.find(([codes]) => codes.test(code)) ?? MESSAGES.find(([texts]) => texts.test(error.message))
  if (found === undefined) return REFUSED.test(code) ? refused(error) : error
  const [, kind] = found
  return new Fault(kind.code, `the ledger did not answer: ${error.message}`, {
    retryable: true,
    outcomeUnknown: kind.outcomeUnknown,
    cause: error,
  })
}

/** The statement took too long, or no connection was free in time. */
export function isTimeout({ cause }: Fault): boolean {
  return cause instanceof Error && ((cause as { code?: unknown }).code === '57014' || TIMED_OUT.test(cause.message))
}

/** While a connection is opened no statement runs: an error that is not retryable (a certificate, a missing password) is in the address. */
export function toConnectFault(error: unknown): unknown {
  const fault = toFault(error)
  return fault instanceof Fault || !(fault instanceof Error) ? fault : refused(fault)
}

/** PostgreSQL and `pg` name user and database, never a password. */
function refused(error: Error): Fault {
  return new Fault('ledger_refused', `DATABASE_URL: PostgreSQL refuses the connection: ${error.message}`, {
    cause: error,
  })
}
