/**
 * The sentinels that know which server is the primary. All of them are asked, and the latest word is believed. Asked again every second, so
 * that a connection to a server that is the primary no longer ends although it still answers.
 *
 * Promises nothing about the server they name: whoever connects asks it for its role. An old primary that nobody reaches but us is
 * fenced by E1 and E11, not here.
 */

import { Bug } from '../assert.ts'
import { Fault } from '../fault.ts'
import { awayFault, isOtherKind } from './faults.ts'
import { latestPrimary, type Where } from './latest-primary.ts'
import { Link } from './link.ts'
import type { RedisPlace } from './redis-url.ts'
import type { Dealings } from './server.ts'

type Place = Extract<RedisPlace, { readonly kind: 'sentinel' }>

interface Sentinels {
  /** A fault when none of them answers, or none knows the name. */
  primary(): Promise<Where>
  /** From now on tells, about every second, where the primary is. */
  follow(tell: (where: Where) => void): void
  /** In their own words: how many there are, and whether they could fail over. Undefined: none answers. */
  quorum(): Promise<{ readonly reached: boolean; readonly words: string } | undefined>
  close(): Promise<void>
}

const ASK_EVERY_MS = 1_000
/** Less than a connect may take: a silent one must not hold up what the others know. */
const ANSWER_MS_MAX = 1_000
const FIRST_MS_MAX = 500
const FIRST_EVERY_MS = 10

export function openSentinels(
  place: Place,
  { clock, log, timeoutMs }: Pick<Dealings, 'clock' | 'log' | 'timeoutMs'>,
): Sentinels {
  const links = place.sentinels.map(
    (address, i) =>
      new Link({
        address: () => address,
        clock,
        log,
        timeoutMs: Math.min(ANSWER_MS_MAX, Math.ceil(timeoutMs / 2)),
        name: `sentinel ${i + 1}`,
      }),
  )
  const closing = new AbortController()
  let following: Promise<void> | undefined

  /** What those say that answer. */
  async function ask(...args: string[]): Promise<(unknown | Error)[]> {
    const what = args.slice(0, 2).join(' ')
    const told = await Promise.allSettled(links.map(link => link.send(what, [args])))
    return told.map(one => (one.status === 'fulfilled' ? one.value[0] : one.reason))
  }

  async function primary(): Promise<Where> {
    // At the start everybody is just being connected.
    const lateMs = clock.elapsed() + FIRST_MS_MAX
    while (!links.some(link => link.isUp()) && clock.elapsed() < lateMs && !closing.signal.aborted)
      await clock.sleep(FIRST_EVERY_MS, closing.signal)
    const answers = await ask('SENTINEL', 'MASTER', place.name)
    const where = latestPrimary(answers)
    if (where !== undefined) return where
    throw awayFault('SENTINEL MASTER', whyNone(answers, place.name))
  }

  async function follow(tell: (where: Where) => void): Promise<void> {
    while (!closing.signal.aborted) {
      await clock.sleep(ASK_EVERY_MS, closing.signal)
      if (closing.signal.aborted) return
      try {
        tell(await primary())
      } catch (error) {
        // While nobody knows better, the server that is connected stays the one.
        if (!(error instanceof Fault)) throw error
      }
    }
  }

  return {
    primary,
    follow(tell) {
      following = follow(tell)
    },
    async quorum() {
      const answers = await ask('SENTINEL', 'CKQUORUM', place.name)
      const good = answers.find(answer => !(answer instanceof Error))
      if (good !== undefined) return { reached: true, words: String(good) }
      const refusal = answers.find(answer => answer instanceof Error && /NOQUORUM/.test(answer.message))
      return refusal === undefined ? undefined : { reached: false, words: (refusal as Error).message }
    },
    async close() {
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
