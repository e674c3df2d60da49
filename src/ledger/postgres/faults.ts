/**
 * What went wrong between us and PostgreSQL, in one table: which failures may be tried again, after which the outcome is unknown (the
 * statement may have been committed although no answer came), and which are for the operator to mend. Everything else is a bug and is
 * passed on as it is.
 */

import { Fault } from '../../base/fault.ts'

type Kind = { readonly code: string; readonly outcomeUnknown: boolean }

const AWAY: Kind = { code: 'ledger_away', outcomeUnknown: true }
const NOT_REACHED: Kind = { code: 'ledger_away', outcomeUnknown: false }
const COLLIDED: Kind = { code: 'ledger_collision', outcomeUnknown: false }

/** By class of SQLSTATE: the server lives and can't do it now (no room, no memory, a bad disk), or a pooler lost it on the way. */
const RETRYABLE_CLASSES: Readonly<Record<string, Kind>> = { '08': AWAY, '53': AWAY, '58': AWAY }

/** By SQLSTATE, or by the system's error code where no server answered. All of these are retryable. */
const RETRYABLE: Readonly<Record<string, Kind>> = {
  '40001': COLLIDED, // serialization_failure
  '40P01': COLLIDED, // deadlock_detected
  '55P03': COLLIDED, // lock_not_available
  '53300': NOT_REACHED, // too_many_connections
  '57P03': NOT_REACHED, // cannot_connect_now: starting up or shutting down
  '57014': AWAY, // query_canceled, by our own time limit
  '57P01': AWAY, // admin_shutdown
  '57P02': AWAY, // crash_shutdown
  '57P05': AWAY, // idle_session_timeout
  '25P03': AWAY, // idle_in_transaction_session_timeout: this process slept in the middle of one
  '25P04': AWAY, // transaction_timeout
  '25006': AWAY, // read_only_sql_transaction: we reached a standby
  ECONNREFUSED: NOT_REACHED,
  ENOENT: NOT_REACHED,
  EAI_AGAIN: NOT_REACHED,
  ENOTFOUND: NOT_REACHED,
  EAGAIN: NOT_REACHED, // a unix socket whose backlog is full
  EMFILE: NOT_REACHED, // the crowd has all our descriptors
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

/** By SQLSTATE: the server is there and will not have us, or not let us do it. Nothing was done; whoever set the address can mend it. */
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

/**
 * While a connection is opened nothing of ours runs: whatever stops it and does not pass by itself (a certificate, a password that is
 * missing, an address nobody can read) is in the address.
 */
export function toConnectFault(error: unknown): unknown {
  const fault = toFault(error)
  return fault instanceof Fault || !(fault instanceof Error) ? fault : refused(fault)
}

/** PostgreSQL and `pg` name user and database, never a password. */
function refused(error: Error): Fault {
  return new Fault('ledger_refused', `DATABASE_URL: no way into PostgreSQL: ${error.message}`, { cause: error })
}
