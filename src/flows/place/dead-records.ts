/**
 * Dead letters, with a copy in a topic of their own for those who watch the log. The row in the ledger comes first and is what counts
 * (`stampede dead` reads it); the copy says the same.
 */

import { type Fault, onFault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { LogSender } from '../../kafka/message-log.ts'
import type { DeadLetter, Journal } from '../../ledger/journal.ts'

interface DeadTopicParts {
  readonly journal: Pick<Journal, 'writeDeadLetter'>
  readonly sender: LogSender
  readonly topic: string
  readonly log: Log
}

/** What is left of a text that is too long for a message. */
const RAW_LENGTH_MAX = 200_000

/** @param onFailure `throw`: the letter is tried again, so that its copy is made at least once. `log`: the log must not hold up the caller. */
export function withDeadTopic(
  { journal, sender, topic, log }: DeadTopicParts,
  onFailure: 'throw' | 'log',
): Pick<Journal, 'writeDeadLetter'> {
  const copy = async (letter: DeadLetter) => {
    const value = JSON.stringify({ v: 1, ...letter, raw: letter.raw.slice(0, RAW_LENGTH_MAX) })
    await sender.send(topic, [{ key: letter.item, value, headers: { reason: letter.why.slice(0, 500) } }])
  }
  return {
    async writeDeadLetter(letter) {
      await journal.writeDeadLetter(letter)
      if (onFailure === 'throw') return copy(letter)
      const unsent = (fault: Fault) =>
        log.warn({ code: fault.code, err: fault }, 'dead letter stored; its copy for the log was not sent')
      await onFault(() => copy(letter), unsent)
    },
  }
}
