/**
 * Copies events into a topic of the message log, in the order of their numbers, each under its order, item or sale as the key: those of one
 * order, also of its payments, are in order. At least once: what was sent before a crash may be sent again, and nothing is left out.
 *
 * The cursor is in the topic itself. Each message says up to which number all events were stored before its own batch was sent; after a
 * restart the highest of these among the last messages is where to go on. An empty topic gets all events that are kept.
 *
 *   1 read    the next events behind the cursor
 *   2 send    all of them, and wait until all are stored. Dies before: read again; dies after: sent again
 *   3         the cursor goes behind them
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { LogMessage, MessageLog, TopicSpec } from '../../kafka/message-log.ts'
import type { EventLog } from '../../ledger/events.ts'
import { orderingKey, toCloudEvent } from '../../wire/events/cloud-event.ts'

interface CopyEventsContext {
  readonly eventLog: Pick<EventLog, 'read' | 'ends'>
  readonly messageLog: Pick<MessageLog, 'prepare' | 'sender' | 'tail'>
  readonly topic: TopicSpec
  /** The installation that the events come from. */
  readonly source: string
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
}

/** CloudEvents' own binding for Kafka, structured mode. */
const CONTENT_TYPE = 'application/cloudevents+json; charset=utf-8'
/** All events up to this number were stored before this message was sent. */
const STORED_HEADER = 'stampede-stored'
const EVENTS_MAX = 500
/** After such a pause another process may have gone on: the cursor is read again. */
const FRESH_MS = 5_000

export function createEventCopies(context: CopyEventsContext) {
  const { eventLog, messageLog, topic, clock, log, meters } = context
  let cursor: number | undefined
  let preparing: Promise<void> | undefined
  let usedMs = 0

  /** Once; until that has succeeded, each call tries. */
  function prepare(): Promise<void> {
    preparing ??= messageLog.prepare([topic]).catch((error: unknown) => {
      preparing = undefined
      throw error
    })
    return preparing
  }

  async function readCursor(): Promise<number> {
    const last = await messageLog.tail(topic.name, 1)
    const stored = last.map(({ headers }) => Number(headers[STORED_HEADER])).filter(Number.isSafeInteger)
    return stored.length > 0 ? Math.max(...stored) : (await eventLog.ends()).oldest - 1
  }

  async function send(messages: readonly LogMessage[]): Promise<void> {
    const replies = await messageLog.sender.send(topic.name, messages)
    const tooLarge = replies.filter(reply => reply === 'too_large').length
    if (tooLarge === 0) return
    meters.count('alarms', 'events_not_copied', tooLarge)
    log.error(
      { event: 'events_too_large', topic: topic.name, tooLarge },
      'events not copied: they are too large for the topic',
    )
  }

  return {
    /** Creates or checks the topic. */
    prepare,
    /** One round. True when there is more. */
    async round(): Promise<boolean> {
      await prepare()
      const nowMs = clock.elapsed()
      if (nowMs - usedMs > FRESH_MS) cursor = undefined
      usedMs = nowMs
      cursor ??= await readCursor()
      const page = await eventLog.read(cursor, EVENTS_MAX)
      if (page.expired || cursor > page.newest) {
        // Deleted before they were copied; or the ledger was restored, and gives the same numbers again.
        meters.count('alarms', 'events_not_copied')
        log.error(
          { event: 'events_missing', topic: topic.name, cursor, oldest: page.oldest, newest: page.newest },
          'events are missing; going on',
        )
        cursor = page.oldest - 1
        return cursor < page.newest
      }
      const headers = { 'content-type': CONTENT_TYPE, [STORED_HEADER]: String(cursor) }
      const messages = page.events.map(event => {
        const told = toCloudEvent(event, context.source)
        return { key: orderingKey(event, told.subject), value: JSON.stringify(told), headers }
      })
      if (messages.length > 0) await send(messages)
      await faultPoint('events.copied')
      cursor = page.last
      usedMs = clock.elapsed()
      return cursor < page.newest
    },
  }
}
