/**
 * What a failed call to Redis means. Two kinds: nothing was done (the server refused, or was never asked), and the outcome is unknown
 * (`outcomeUnknown`). An error inside a script, or a command that the server does not accept, is neither: it is a bug.
 *
 * Scripts announce what they may do (`script.ts`), so the server refuses them before they start. A refusal that names a line of a script
 * came halfway, and is a bug as well; with one exception: while a slot of a Redis Cluster moves, a key that a script builds the name of
 * may have left already. How far the script came is unknown then.
 */

import { ErrorReply } from '@redis/client'
import { Bug } from '../assert.ts'
import { Fault } from '../fault.ts'

/** First word of the server's error → our code. */
const REFUSALS: Readonly<Record<string, string>> = {
  LOADING: 'redis_loading',
  READONLY: 'redis_readonly',
  OOM: 'redis_full',
  MISCONF: 'redis_refused',
  NOREPLICAS: 'redis_refused',
  MASTERDOWN: 'redis_refused',
  CLUSTERDOWN: 'redis_refused',
  ASK: 'redis_moving',
  TRYAGAIN: 'redis_moving',
  BUSY: 'redis_refused',
  NOAUTH: 'redis_refused',
  NOPERM: 'redis_refused',
}

/** The key belongs to another node of the cluster. Nothing was done. */
export class MovedFault extends Fault {
  readonly slot: number
  /** `host:port`, as the node that was asked calls it. */
  readonly target: string

  constructor(what: string, message: string, slot: number, target: string) {
    super('redis_moved', `redis, ${what}: ${message}`, { retryable: true })
    this.slot = slot
    this.target = target
  }
}

/** What the server answered, as a fault or a bug. Server texts hold no password: it is never sent in a command that is answered so. */
export function fromReply(error: ErrorReply, what: string): Fault | Bug {
  const { message } = error
  const [, slot, target] = /^MOVED (\d+) (\S+)/.exec(message) ?? []
  if (slot !== undefined && target !== undefined) return new MovedFault(what, message, Number(slot), target)
  if (/attempted to access a non local key/i.test(message)) return maybeDone('redis_moving', what, message)
  const code = REFUSALS[message.split(' ', 1)[0] as string]
  if (code === undefined || message.includes('@user_script')) return new Bug(`redis, ${what}: ${message}`)
  return notDone(code, what, message)
}

export function isNoScript(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith('NOSCRIPT')
}

/** The server is of another kind than the address says: it does not know what only that kind is asked. */
export function isOtherKind(error: unknown): boolean {
  return error instanceof Bug && /cluster support disabled|unknown command/i.test(error.message)
}

/** Nothing was done. */
export function notDone(code: string, what: string, why: string): Fault {
  return new Fault(code, `redis, ${what}: ${why}`, { retryable: true })
}

/** It may have been done. */
export function maybeDone(code: string, what: string, why: string): Fault {
  return new Fault(code, `redis, ${what}: ${why}`, { retryable: true, outcomeUnknown: true })
}

export function timeoutFault(what: string, ms: number): Fault {
  return maybeDone('redis_timeout', what, `no answer in ${ms} ms`)
}
