/**
 * Sends in the order it is called, one request at a time, and what waits meanwhile goes together into the next: a later message never
 * overtakes an earlier one, also when a request is tried again. The library numbers the messages of a partition (idempotent producer), so
 * that a request whose answer was lost is not stored twice when it is tried again; it is tried for `TRIES` times about a second.
 *
 * A caller waits for `SEND_MS_MAX`. Then what was not sent yet is dropped, and what is under way may still be stored; the callers behind
 * it wait, for it may not be overtaken. A request that failed for good may have been stored in part.
 */

import { type BaseOptions, compatibilityPartitioner, Producer } from '@platformatic/kafka'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { LogMessage, LogSender, SendReply } from '../message-log.ts'
import { kafkaFault } from './connection.ts'
import type { KnownTopic } from './topics.ts'

const SEND_MS_MAX = 10_000
const CLOSE_MS_MAX = 5_000
const TRIES = 600
const PAUSE_MS = 50
const PAUSE_MS_MAX = 1_000
/** Over all callers. */
const WAITING_MAX = 50_000
const REQUEST_BYTES_MAX = 8 * 2 ** 20
/** What Kafka adds to a message (lengths, offsets, times), and to a batch of them, at most. */
const MESSAGE_EXTRA_BYTES = 64
const HEADER_EXTRA_BYTES = 10
const BATCH_EXTRA_BYTES = 128

interface Waiting {
  readonly topic: string
  readonly partition: number
  readonly key: Buffer
  readonly value: Buffer
  readonly headers: Map<Buffer, Buffer>
  readonly bytes: number
  readonly call: Call
  /** Its place in the call's replies. */
  readonly index: number
}

interface Call {
  readonly replies: (SendReply | undefined)[]
  readonly settled: PromiseWithResolvers<readonly SendReply[]>
  open: number
  /** Its caller has been answered. */
  over: boolean
}

export interface Sender extends LogSender {
  close(): Promise<void>
}

export function partitionOfKey(key: Buffer | string, partitions: number): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key
  return compatibilityPartitioner({ topic: '' }, bytes) % partitions
}

export function createSender(
  clock: Clock,
  options: BaseOptions,
  topicOf: (name: string) => KnownTopic,
  sendMsMax = SEND_MS_MAX,
): Sender {
  const retryDelay = (_client: unknown, _operation: string, attempt: number) =>
    Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** Math.min(attempt - 1, 10))
  const producer = new Producer({ ...options, idempotent: true, retries: TRIES, retryDelay })
  let waiting: Waiting[] = []
  let working: Promise<void> = Promise.resolve()
  let busy = false
  let closed = false

  /** The longest prefix of what waits that fits into one request, and of each partition into one batch. */
  function takeRequest(): Waiting[] {
    const batches = new Map<string, number>()
    let bytes = 0
    const end = waiting.findIndex(one => {
      const name = `${one.topic}:${one.partition}`
      const batch = (batches.get(name) ?? BATCH_EXTRA_BYTES) + one.bytes
      bytes += one.bytes
      if (batch > topicOf(one.topic).batchBytesMax || (bytes > REQUEST_BYTES_MAX && batches.size > 0)) return true
      batches.set(name, batch)
      return false
    })
    return waiting.splice(0, end < 0 ? waiting.length : end)
  }

  async function work(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      const request = takeRequest()
      assert(request.length > 0, 'a message that fits into no request was let in')
      try {
        await store(request)
      } catch (error) {
        const fault = kafkaFault('messages were not sent', error, true)
        for (const { call } of request) fail(call, fault)
      }
    }
    busy = false
  }

  async function store(request: readonly Waiting[]): Promise<void> {
    const messages = request.map(({ topic, partition, key, value, headers }) => ({
      topic,
      partition,
      key,
      value,
      headers,
    }))
    const { offsets = [] } = await producer.send({ messages })
    const next = new Map(offsets.map(({ topic, partition, offset }) => [`${topic}:${partition}`, offset]))
    for (const one of request) {
      const name = `${one.topic}:${one.partition}`
      const offset = next.get(name)
      if (offset === undefined) throw new Error(`${name} was acknowledged without an offset`)
      next.set(name, offset + 1n)
      reply(one, { partition: one.partition, offset })
    }
  }

  function reply({ call, index }: Waiting, value: SendReply): void {
    call.replies[index] = value
    call.open -= 1
    if (call.open > 0) return
    call.over = true
    call.settled.resolve(call.replies as readonly SendReply[])
  }

  function fail(call: Call, fault: Fault): void {
    if (call.over) return
    call.over = true
    call.settled.reject(fault)
    waiting = waiting.filter(one => one.call !== call)
  }

  function encode(topic: string, message: LogMessage, call: Call, index: number): Waiting {
    const key = Buffer.from(message.key)
    const value = Buffer.from(message.value)
    const headers = new Map(
      Object.entries(message.headers ?? {}).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
    )
    let bytes = MESSAGE_EXTRA_BYTES + key.length + value.length
    for (const [name, text] of headers) bytes += HEADER_EXTRA_BYTES + name.length + text.length
    return { topic, partition: partitionOfKey(key, topicOf(topic).partitions), key, value, headers, bytes, call, index }
  }

  return {
    async send(topic, messages) {
      if (closed) throw new Fault('kafka_away', 'the connection to Kafka is closed', { retryable: true })
      if (messages.length === 0) return []
      if (waiting.length + messages.length > WAITING_MAX)
        throw new Fault('kafka_away', `${waiting.length} messages wait for Kafka already`, { retryable: true })
      const call: Call = {
        replies: Array(messages.length),
        settled: Promise.withResolvers(),
        open: messages.length,
        over: false,
      }
      const { batchBytesMax } = topicOf(topic)
      for (const [index, message] of messages.entries()) {
        const one = encode(topic, message, call, index)
        if (one.bytes + BATCH_EXTRA_BYTES > batchBytesMax) reply(one, 'too_large')
        else waiting.push(one)
      }
      if (!busy) working = work()
      const replies = await atMost(clock, sendMsMax, call.settled.promise)
      if (replies !== undefined) return replies
      const late = new Fault('kafka_away', `Kafka did not store ${messages.length} messages within ${sendMsMax} ms`, {
        retryable: true,
        outcomeUnknown: true,
      })
      fail(call, late)
      return call.settled.promise
    },
    async close() {
      closed = true
      await atMost(clock, CLOSE_MS_MAX, working)
      await atMost(clock, CLOSE_MS_MAX, producer.close())
    },
  }
}
