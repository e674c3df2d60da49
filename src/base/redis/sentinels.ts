/**
 * The sentinels that know which server is the primary. All of them are asked, and the answer of the latest failover counts. Asked again every
 * second, so that the connection to a server that is no longer the primary ends although it still answers.
 *
 * Promises nothing about the server they name: `connection.ts` asks it for its role. An old primary that only this process reaches is
 * fenced by E1 and E11, not here.
 */

import { Bug } from '../assert.ts'
import { onFault } from '../fault.ts'
import { isOtherKind, notDone } from './faults.ts'
import { latestPrimary } from './latest-primary.ts'
import { Link } from './link.ts'
import type { HostPort, RedisTarget } from './redis-url.ts'
import type { ServerOptions } from './server.ts'

type SentinelTarget = Extract<RedisTarget, { readonly kind: 'sentinel' }>

const ASK_EVERY_MS = 1_000
/** Less than a connect may take: a silent sentinel must not delay the others' answers. */
const ANSWER_MS_MAX = 1_000
const FIRST_MS_MAX = 500
const FIRST_EVERY_MS = 10

export function openSentinels(
  target: SentinelTarget,
  { clock, log, timeoutMs }: Pick<ServerOptions, 'clock' | 'log' | 'timeoutMs'>,
) {
  const common = { clock, log, timeoutMs: Math.min(ANSWER_MS_MAX, Math.ceil(timeoutMs / 2)) }
  const links = target.sentinels.map(
    (address, i) => new Link({ ...common, address: () => address, name: `sentinel ${i + 1}` }),
  )
  const closing = new AbortController()
  let following: Promise<void> | undefined

  /** One answer or error of each. */
  async function ask(...args: string[]): Promise<(unknown | Error)[]> {
    const what = args.slice(0, 2).join(' ')
    const answers = await Promise.allSettled(links.map(link => link.send(what, [args])))
    return answers.map(one => (one.status === 'fulfilled' ? one.value[0] : one.reason))
  }

  /** A fault when none of them answers, or none knows the name. */
  async function primary(): Promise<HostPort> {
    // At the start none is connected yet.
    const lateMs = clock.elapsed() + FIRST_MS_MAX
    while (!links.some(link => link.isUp()) && clock.elapsed() < lateMs && !closing.signal.aborted)
      await clock.sleep(FIRST_EVERY_MS, closing.signal)
    const answers = await ask('SENTINEL', 'MASTER', target.name)
    const where = latestPrimary(answers)
    if (where !== undefined) return where
    throw notDone('redis_away', 'SENTINEL MASTER', whyNone(answers, target.name))
  }

  async function follow(onPrimary: (where: HostPort) => void): Promise<void> {
    while (!closing.signal.aborted) {
      await clock.sleep(ASK_EVERY_MS, closing.signal)
      if (closing.signal.aborted) return
      // Without an answer the connected server stays the primary.
      const where = await onFault(primary)
      if (where !== undefined) onPrimary(where)
    }
  }

  return {
    primary,
    /** From now on called about every second with where the primary is. */
    follow(onPrimary: (where: HostPort) => void): void {
      following = follow(onPrimary)
    },
    /** Their own text: how many there are, and whether they could fail over. Undefined: none answers. */
    async quorum() {
      const answers = await ask('SENTINEL', 'CKQUORUM', target.name)
      const good = answers.find(answer => !(answer instanceof Error))
      if (good !== undefined) return { reached: true, words: String(good) }
      const refusal = answers.find(answer => answer instanceof Error && /NOQUORUM/.test(answer.message))
      return refusal === undefined ? undefined : { reached: false, words: (refusal as Error).message }
    },
    async close(): Promise<void> {
      closing.abort()
      await Promise.all(links.map(link => link.close()))
      await following
    },
  }
}

function whyNone(answers: readonly unknown[], name: string): string {
  if (answers.some(answer => answer instanceof Bug && /No such master/i.test(answer.message)))
    return `no sentinel knows a primary by the name "${name}"`
  if (answers.some(isOtherKind)) return 'what the address names is no sentinel'
  return 'no sentinel answers'
}
