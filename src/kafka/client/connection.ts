/**
 * How brokers are reached, and what their silence or refusal means. Every call of the library goes through `asFault`: whatever it throws is
 * the outside's, never a bug of ours.
 */

import { type BaseOptions, findErrorBy } from '@platformatic/kafka'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'

export interface KafkaSettings {
  /** host:port each. */
  readonly brokers: readonly string[]
  /** Undefined: not encrypted. `ca`: the authority's certificate (PEM); undefined: those of the system. */
  readonly tls: { readonly ca: string | undefined } | undefined
  readonly sasl: KafkaLogin | undefined
  /** Undefined: three, or as many as there are brokers. */
  readonly replication: number | undefined
  /** Undefined: all replicas but one, and at least one. */
  readonly minInsync: number | undefined
}

interface KafkaLogin {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
  readonly username: string
  readonly password: string
}

export interface KafkaPorts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

export interface KafkaLimits {
  /** How long a call of `send` waits. */
  readonly sendMsMax?: number
}

const CONNECT_MS_MAX = 5_000

export function baseOptions(settings: KafkaSettings, clientId: string, requestMsMax: number): BaseOptions {
  const { brokers, tls, sasl } = settings
  return {
    clientId,
    bootstrapBrokers: [...brokers],
    connectTimeout: Math.min(CONNECT_MS_MAX, requestMsMax),
    requestTimeout: requestMsMax,
    ...(tls !== undefined && { tls: tls.ca === undefined ? {} : { ca: tls.ca } }),
    ...(sasl !== undefined && { sasl }),
  }
}

/** The broker has understood and says no; asking again changes nothing until an operator has. */
const REFUSALS = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_REPLICATION_FACTOR',
  'INVALID_CONFIG',
  'POLICY_VIOLATION',
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
])

/** Everything the error was made of, itself first. */
function* causesOf(error: unknown, depth = 0): Generator<Record<string, unknown> & { message?: string }> {
  if (typeof error !== 'object' || error === null || depth > 8) return
  const one = error as Record<string, unknown> & { message?: string }
  yield one
  if (Array.isArray(one.errors)) for (const inner of one.errors) yield* causesOf(inner, depth + 1)
  yield* causesOf(one.cause, depth + 1)
}

/** The name of the broker's answer that says no, if there is one. */
export function answerOf(error: unknown, names: ReadonlySet<string>): string | undefined {
  for (const { apiId } of causesOf(error)) if (typeof apiId === 'string' && names.has(apiId)) return apiId
  return undefined
}

/** What a broker answered beside an error of a part of it, if it did. */
export function answerBeside(error: unknown): unknown {
  for (const { response } of causesOf(error)) if (response !== undefined) return response
  return undefined
}

export function kafkaFault(doing: string, error: unknown, outcomeUnknown = false): Fault {
  if (error instanceof Fault) return error
  const causes = [...causesOf(error)]
  const last = causes.findLast(one => typeof one.apiId === 'string') ?? causes.at(-1)
  const said = `${doing}: ${String(last?.apiId ?? last?.message ?? error)}`
  const refused =
    answerOf(error, REFUSALS) !== undefined ||
    causes.some(one => one.code === 'PLT_KFK_AUTHENTICATION' || /^Unknown topic/.test(one.message ?? ''))
  if (refused) return new Fault('kafka_refused', `Kafka refused: ${said}`, { cause: error })
  return new Fault('kafka_away', `no answer of Kafka: ${said}`, { retryable: true, outcomeUnknown, cause: error })
}

/** The call's value, or a Fault; at most so long. What a late call still does is its own. */
export async function asFault<T>(clock: Clock, doing: string, msMax: number, call: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const late = clock.sleep(msMax, done.signal).then(() => {
    if (done.signal.aborted) return new Promise<never>(() => {})
    throw new Fault('kafka_away', `no answer of Kafka within ${msMax} ms: ${doing}`, { retryable: true })
  })
  try {
    return await Promise.race([call(), late])
  } catch (error) {
    throw kafkaFault(doing, error)
  } finally {
    done.abort()
  }
}

/** The member must join again: its generation is over. */
export function needsRejoin(error: unknown): boolean {
  return error instanceof Error && findErrorBy(error, 'needsRejoin', true) !== null
}
