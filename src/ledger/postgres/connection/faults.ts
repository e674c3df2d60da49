/**
 * Failures of PostgreSQL and of the connection to it, in one table: which may be retried, after which the outcome is unknown (the statement may
 * have been committed although no answer came), and which the operator must fix. Every other error is a bug and is passed on as it is.
 */

import { Fault } from '../../../base/fault.ts'

type Kind = { readonly code: string; readonly outcomeUnknown: boolean }

const AWAY: Kind = { code: 'ledger_away', outcomeUnknown: true }
const NOT_REACHED: Kind = { code: 'ledger_away', outcomeUnknown: false }
const COLLIDED: Kind = { code: 'ledger_collision', outcomeUnknown: false }

/** By class of SQLSTATE: the server can't do it now (no room, no memory, a bad disk), or a pooler lost the connection. */
const RETRYABLE_CLASSES: Readonly<Record<string, Kind>> = { '08': AWAY, '53': AWAY, '58': AWAY }

/** By SQLSTATE, or by the system's error code where no server answered. All are retryable. */
const RETRYABLE: Readonly<Record<string, Kind>> = {
  '40001': COLLIDED, // serialization_failure
  '40P01': COLLIDED, // deadlock_detected
  '55P03': COLLIDED, // lock_not_available
  '53300': NOT_REACHED, // too_many_connections
  '57P03': NOT_REACHED, // cannot_connect_now: starting up or shutting down
  '57014': AWAY, // query_canceled, by the statement's time limit
  '57P01': AWAY, // admin_shutdown
  '57P02': AWAY, // crash_shutdown
  '57P05': AWAY, // idle_session_timeout
  '25P03': AWAY, // idle_in_transaction_session_timeout: this process was stopped in a transaction
  '25P04': AWAY, // transaction_timeout
  '25006': AWAY, // read_only_sql_transaction: the server is a standby
  ECONNREFUSED: NOT_REACHED,
  ENOENT: NOT_REACHED,
  EAI_AGAIN: NOT_REACHED,
  ENOTFOUND: NOT_REACHED,
  EAGAIN: NOT_REACHED, // a unix socket whose backlog is full
  EMFILE: NOT_REACHED, // all descriptors are in use
  ENFILE: NOT_REACHED,
  ENOBUFS: NOT_REACHED,
  EADDRNOTAVAIL: NOT_REACHED,
  EHOSTUNREACH: AWAY,
  EHOSTDOWN: AWAY,
  ENETUNREACH: AWAY,
  ENETDOWN: AWAY,
  ECONNABORTED: AWAY,
  ETIMEDOUT: AWAY,
  ECONNRESET: AWAY,
  EPIPE: AWAY,
}

/** `pg` reports these without a code. */
const MESSAGES: readonly (readonly [RegExp, Kind])[] = [
  // The pool's text, and a single client's.
  [/timeout exceeded when trying to connect|^timeout expired$/i, NOT_REACHED],
  [
    /connection terminated|connection ended|not queryable|client has encountered a connection error|client was closed/i,
    AWAY,
  ],
  [/query read timeout/i, AWAY],
]

/** By SQLSTATE: the server answers and refuses access. Nothing was done; the address must be fixed. */
const REFUSED: ReadonlySet<string> = new Set([
  '28P01', // invalid_password
  '28000', // invalid_authorization_specification
  '3D000', // invalid_catalog_name: no such database
  '42501', // insufficient_privilege
])

export function toFault(error: unknown): unknown {
  if (error instanceof Fault || !(error instanceof Error)) return error
  const code = (error as { code?: unknown }).code
  const byCode = typeof code === 'string' && Object.hasOwn(RETRYABLE, code) ? RETRYABLE[code] : undefined
  const byClass = typeof code === 'string' && code.length === 5 ? RETRYABLE_CLASSES[code.slice(0, 2)] : undefined
  const kind = byCode ?? byClass ?? MESSAGES.find(([pattern]) => pattern.test(error.message))?.[1]
  if (kind === undefined) return typeof code === 'string' && REFUSED.has(code) ? refused(error) : error
  return new Fault(kind.code, `the ledger did not answer: ${error.message}`, {
    retryable: true,
    outcomeUnknown: kind.outcomeUnknown,
    cause: error,
  })
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
