/** What the shop hears through Kafka: opens the connection of the process that leads, and checks the topic at the start. */

import { atMost } from '../base/deadline.ts'
import { onFault } from '../base/fault.ts'
import { createEventCopies } from '../flows/tell/copy-events.ts'
import { openMessageLog } from '../kafka/client/kafka-log.ts'
import { ConfigError } from './config/config.ts'
import type { ProcessContext } from './process-context.ts'

/** A sale's results with many items are the largest event. */
const EVENT_BYTES_MAX = 2 ** 20
const FOR_GOOD_MS = -1
/** A start does not wait longer for Kafka. */
const CHECK_MS_MAX = 5_000

/** Undefined: no brokers are set, no events are written, or this process never leads. */
export function openEventCopies(context: ProcessContext) {
  const { config, clock, log } = context
  const { kafka, events } = config
  if (kafka === undefined || !events.written || !config.roles.includes('keeper')) return undefined
  const messageLog = openMessageLog(kafka, context)
  const topic = {
    name: `${kafka.topicPrefix}events`,
    partitions: kafka.partitions,
    retentionMs: events.keptMs ?? FOR_GOOD_MS,
    messageBytesMax: EVENT_BYTES_MAX,
  }
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => {})
  const copies = createEventCopies({ ...context, messageLog, topic, source: events.source })
  return {
    round: copies.round,
    /**
     * A Kafka that is away is asked again later. One that refuses, or a topic that does not fit, stops the start; where that shows only
     * after a few seconds, the start has gone on, and the process ends with the same line (`refused`).
     */
    async check(): Promise<void> {
      const checked = onFault(copies.prepare, fault => {
        if (!fault.retryable) throw new ConfigError(fault.message)
        log.warn(
          { event: 'events_without_kafka', code: fault.code, err: fault },
          'Kafka is away; events wait in the ledger',
        )
      })
      checked.catch(refused.reject)
      await atMost(clock, CHECK_MS_MAX, checked)
    },
    /** Never ends well. */
    refused: refused.promise,
    close: () => messageLog.close(),
  }
}
