/** Logs JSON lines to standard output, or to what makes readable lines of them. Fields with the name of a secret are hidden, at the top level and one level below. */

import pino from 'pino'
import type { Log } from '../base/log.ts'

const SECRET_FIELDS = ['token', 'ticket', 'secret', 'authorization', 'cookie', 'password']

export function createPinoLog(level: string, lines?: { write(line: string): void }): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFields },
    redact: { paths: SECRET_FIELDS.flatMap(field => [field, `*.${field}`]), censor: '[hidden]' },
  }
  return lines === undefined ? pino(options) : pino(options, lines)
}

/** Name, message, code, stack and cause only: a driver's error object may hold its whole connection. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack } = error
  const code = (error as { code?: unknown }).code
  const cause = error.cause === undefined ? undefined : errorFields(error.cause)
  return { name, message, ...(typeof code === 'string' && { code }), stack, ...(cause !== undefined && { cause }) }
}
