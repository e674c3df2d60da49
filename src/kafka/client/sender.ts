/**
 * Sends in the order it is called: one request at a time per partition, and what waits meanwhile goes together into the next. A later message
 * of a key never overtakes an earlier one, also when a request is tried again. The library numbers the messages of a partition (idempotent
 * producer), so that a request whose answer was lost is not stored twice when it is tried again; it is tried for `TRIES` times about a second.
 *
 * Each partition has a lane with a producer of its own: one that can't be written (no leader, too few replicas) holds up no other, and when
 * the library takes a new producer id after a failure, the numbers of no other lane begin anew under the old one.
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

interface Lane {
  readonly topic: string
  readonly partition: number
  readonly producer: Producer
  waiting: Waiting[]
  /** Undefined: nothing is under way. */
  working: Promise<void> | undefined
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
  const lanes = new Map<string, Lane>()
  /** In all lanes. */
  let waiting = 0
  let closed = false

  function laneOf(topic: string, key: Buffer): Lane {
    const partition = partitionOfKey(key, topicOf(topic).partitions)
    const name = `${topic}:${partition}`
    let lane = lanes.get(name)
    if (lane === undefined) {
      const producer = new Producer({ ...options, idempotent: true, retries: TRIES, retryDelay })
      lane = { topic, partition, producer, waiting: [], working: undefined }
      lanes.set(name, lane)
    }
    return lane
  }

  /** The longest prefix of what waits that fits into one batch. */
  function takeRequest(lane: Lane): Waiting[] {
    const bytesMax = Math.min(topicOf(lane.topic).batchBytesMax, REQUEST_BYTES_MAX)
    let bytes = BATCH_EXTRA_BYTES
    const end = lane.waiting.findIndex((one, i) => {
      bytes += one.bytes
      return i > 0 && bytes > bytesMax
    })
    const request = lane.waiting.splice(0, end < 0 ? lane.waiting.length : end)
    waiting -= request.length
    return request
  }

  async function work(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) {
      const request = takeRequest(lane)
      assert(request.length > 0, 'a message that fits into no request was let in')
      try {
        await store(lane, request)
      } catch (error) {
        const fault = kafkaFault('messages were not sent', error, true)
        for (const { call } of request) fail(call, fault)
      }
    }
    lane.working = undefined
  }

  async function store({ topic, partition, producer }: Lane, request: readonly Waiting[]): Promise<void> {
    const messages = request.map(({ key, value, headers }) => ({ topic, partition, key, value, headers }))
    const { offsets = [] } = await producer.send({ messages })
    const first = offsets.find(one => one.topic === topic && one.partition === partition)?.offset
    if (first === undefined) throw new Error(`${topic}:${partition} was acknowledged without an offset`)
    for (const [i, one] of request.entries()) reply(one, { partition, offset: first + BigInt(i) })
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
    for (const lane of lanes.values()) {
      const kept = lane.waiting.filter(one => one.call !== call)
      waiting -= lane.waiting.length - kept.length
      lane.waiting = kept
    }
  }

  function encode(message: LogMessage, call: Call, index: number): Waiting {
    const key = Buffer.from(message.key)
    const value = Buffer.from(message.value)
    const headers = new Map(
      Object.entries(message.headers ?? {}).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
    )
    let bytes = MESSAGE_EXTRA_BYTES + key.length + value.length
    for (const [name, text] of headers) bytes += HEADER_EXTRA_BYTES + name.length + text.length
    return { key, value, headers, bytes, call, index }
  }

  return {
    async send(topic, messages) {
      if (closed) throw new Fault('kafka_away', 'the connection to Kafka is closed', { retryable: true })
      if (messages.length === 0) return []
      if (waiting + messages.length > WAITING_MAX)
        throw new Fault('kafka_away', `${waiting} messages wait for Kafka already`, { retryable: true })
      const call: Call = {
        replies: Array(messages.length),
        settled: Promise.withResolvers(),
        open: messages.length,
        over: false,
      }
      const { batchBytesMax } = topicOf(topic)
      const used = new Set<Lane>()
      for (const [index, message] of messages.entries()) {
        const one = encode(message, call, index)
        if (one.bytes + BATCH_EXTRA_BYTES > batchBytesMax) {
          reply(one, 'too_large')
          continue
        }
        const lane = laneOf(topic, one.key)
        lane.waiting.push(one)
        waiting += 1
        used.add(lane)
      }
      for (const lane of used) lane.working ??= work(lane)
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
      const all = [...lanes.values()]
      await atMost(clock, CLOSE_MS_MAX, Promise.all(all.map(lane => lane.working)))
      await atMost(clock, CLOSE_MS_MAX, Promise.all(all.map(lane => lane.producer.close())))
    },
  }
}
