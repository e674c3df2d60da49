/**
 * Makes one script call of many calls of the same script, for keys that are all on one server: what is asked while a call is under way shares the next
 * one (`several.lua`). With a hundred hot items every call is small, and each has a fixed price at the server and on the way there.
 *
 * Guarantees: every call is made once, after it was asked for, and gets its own answer; calls keep their order. A call that finds none under way does
 * not wait. A fault is the fault of all that share a call. Where keys may be on several servers nothing is shared: no server waits for another.
 * Bounded: calls and their weight in one script call, because the server does nothing else meanwhile; and how many wait.
 */

import { ErrorReply } from '@redis/client'
import { createBatcher } from '../batching/batcher.ts'
import { fromReply, notDone } from './faults.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { Script } from './script.ts'

const CALLS_MAX = 128
const WEIGHT_MAX = 1_000
const WAITING_MAX = 10_000

interface Call {
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  readonly weight: number
}

type Answer = { readonly reply: unknown } | { readonly error: unknown }

/** @param several the same script, read for several calls */
export function callTogether(
  connection: Pick<RedisConnection, 'run' | 'runDurably' | 'oneServer'>,
  how: 'run' | 'runDurably',
  script: Script,
  several: Script,
): (keys: Call['keys'], args: Call['args'], weight?: number) => Promise<unknown> {
  const callOne = ({ keys, args }: Call) => connection[how](script, keys, args)

  async function callAll(calls: readonly Call[]): Promise<readonly Answer[]> {
    if (calls.length === 1) return [await callOne(calls[0]!).then(reply => ({ reply }), failed)]
    const keys = calls.flatMap(call => call.keys)
    const args = calls.flatMap(call => [call.keys.length, call.args.length, ...call.args])
    try {
      const replies = (await connection[how](several, keys, args)) as readonly unknown[]
      if (replies.length !== calls.length)
        throw new Error(`${script.name}: ${replies.length} answers to ${calls.length} calls`)
      return calls.map((_, i) => {
        const reply = replies[i]
        return reply instanceof ErrorReply ? { error: fromReply(reply, script.name) } : { reply }
      })
    } catch (error) {
      return calls.map(() => ({ error }))
    }
  }

  const batcher = createBatcher<Call, Answer>({
    batchMax: WAITING_MAX,
    queueMax: WAITING_MAX,
    run: async calls => (await Promise.all(sliced(calls).map(callAll))).flat(),
  })

  return async (keys, args, weight = 1) => {
    if (!connection.oneServer) return callOne({ keys, args, weight })
    const answer = await batcher.join({ keys, args, weight })
    if (answer === undefined) throw notDone('redis_refused', script.name, `${WAITING_MAX} calls wait already`)
    if ('error' in answer) throw answer.error
    return answer.reply
  }
}

function failed(error: unknown): Answer {
  return { error }
}

/** In their order, each slice within the bounds; a call that is beyond them by itself is alone. */
function sliced(calls: readonly Call[]): readonly (readonly Call[])[] {
  const slices: Call[][] = []
  let weight = Number.POSITIVE_INFINITY
  for (const call of calls) {
    weight += call.weight
    if (weight > WEIGHT_MAX || slices.at(-1)!.length >= CALLS_MAX) {
      slices.push([])
      weight = call.weight
    }
    slices.at(-1)!.push(call)
  }
  return slices
}
