/**
 * Dead letters, with a copy in a topic of their own for those who watch the log. The row in the ledger comes first and is what counts
 * (`stampede dead` reads it); the copy says the same.
 *
 * A copy that can't be written is logged and left out: it never holds up the reservations behind it. After one that was given up, none is
 * tried for a while, so that many letters at once do not wait one after the other.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { LogSender } from '../../kafka/message-log.ts'
import type { DeadLetter, Journal } from '../../ledger/journal.ts'

interface DeadTopicParts {
  readonly journal: Pick<Journal, 'writeDeadLetter'>
  readonly sender: LogSender
  readonly topic: string
  readonly clock: Clock
  readonly log: Log
}

/** What is left of a text that is too long for a message. */
const RAW_LENGTH_MAX = 200_000
const REST_MS = 60_000

/** @param triesMax at a log that does not answer; each takes as long as the sender waits. */
export function withDeadTopic(
  { journal, sender, topic, clock, log }: DeadTopicParts,
  triesMax: number,
): Pick<Journal, 'writeDeadLetter'> {
  let restUntilMs = Number.NEGATIVE_INFINITY

  /** Why it is not in the topic; undefined: it is. */
  async function copy(letter: DeadLetter): Promise<Fault | string | undefined> {
    if (clock.elapsed() < restUntilMs) return 'resting'
    const value = JSON.stringify({ v: 1, ...letter, raw: letter.raw.slice(0, RAW_LENGTH_MAX) })
    for (let tries = 1; ; tries++) {
      try {
        const [reply] = await sender.send(topic, [
          { key: letter.item, value, headers: { reason: letter.why.slice(0, 500) } },
        ])
        return reply === 'too_large' ? reply : undefined
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        if (error.retryable && tries < triesMax) continue
        restUntilMs = clock.elapsed() + REST_MS
        return error
      }
    }
  }

  return {
    async writeDeadLetter(letter) {
      const isNew = await journal.writeDeadLetter(letter)
      const why = await copy(letter)
      if (why !== undefined) {
        const { item, epoch, entry, order } = letter
        const about = why instanceof Fault ? { code: why.code, err: why } : { code: why }
        log.warn(
          { event: 'dead_letter_not_copied', item, epoch, entry, order, ...about },
          'dead letter stored; its copy for the log was not sent',
        )
      }
      return isNew
    },
  }
}
