/**
 * Logs JSON lines to standard output, or to what makes readable lines of them. Fields with the name of a secret are hidden, and fields that
 * say who someone is are hashed where that is asked for: at the top level and one level below.
 */

import { createHmac } from 'node:crypto'
import pino from 'pino'
import type { Log } from '../base/log.ts'

interface LogOptions {
  readonly lines?: { write(line: string): void } | undefined
  /** With it buyers are hashed: who has the log alone can't try out which buyer a hash is. */
  readonly hashKey?: string | undefined
}

const SECRET_FIELDS = ['token', 'ticket', 'secret', 'authorization', 'cookie', 'password']
const PERSONAL_FIELDS = ['buyer', 'address']
/** Of the hash, in hex: two of a million buyers share one with a chance of 1 to 10 million. */
const HASH_LENGTH = 16

export function createPinoLog(level: string, { lines, hashKey }: LogOptions = {}): Log {
  const isPersonal = new Set(PERSONAL_FIELDS)
  const hashed = (value: unknown) =>
    createHmac('sha256', hashKey ?? '')
      .update(String(value))
      .digest('hex')
      .slice(0, HASH_LENGTH)
  const fields = hashKey === undefined ? SECRET_FIELDS : [...SECRET_FIELDS, ...PERSONAL_FIELDS]
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFields },
    redact: {
      paths: fields.flatMap(field => [field, `*.${field}`]),
      censor: (value: unknown, path: string[]) => (isPersonal.has(path.at(-1) ?? '') ? hashed(value) : '[hidden]'),
    },
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
