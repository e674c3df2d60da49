/** The message log on a real broker. One broker for all tests, topics and groups of their own for each. */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { Admin } from '@platformatic/kafka'
import { type KafkaBroker, startKafka } from '../../../test/harness/kafka.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import type { LogBatch, LogMember, LogRecord, MessageLog } from '../message-log.ts'
import { numbered, openLog, settingsOf, topicSpec } from './kafka-log.fixture.ts'

const playground = new Playground()
let broker: KafkaBroker
const open: MessageLog[] = []
let topics = 0

beforeAll(async () => {
  broker = await startKafka(playground)
}, 300_000)
afterEach(async () => {
  await Promise.all(open.splice(0).map(log => log.close()))
})
afterAll(() => playground.undo())

function logOf(sendMsMax?: number): MessageLog {
  const log = openLog(settingsOf(broker), sendMsMax)
  open.push(log)
  return log
}

async function prepared(partitions: number): Promise<{ log: MessageLog; topic: string }> {
  const log = logOf()
  const topic = `stampede.test-${++topics}`
  await log.prepare([topicSpec(topic, partitions)])
  return { log, topic }
}

/** A member that commits every batch, after it has told of it. */
function collect(
  log: MessageLog,
  topic: string,
  options: { batchMax?: number; tell?: (batch: LogBatch) => Promise<void> } = {},
) {
  const records: LogRecord[] = []
  let partitions: readonly number[] = []
  const member: LogMember = log.join({
    group: `${topic}.readers`,
    topic,
    batchMax: () => options.batchMax ?? 500,
    partitionsAtOnceMax: () => 8,
    assigned: now => {
      partitions = now
    },
    async handle(batch) {
      await options.tell?.(batch)
      records.push(...batch.records)
      await batch.commit(batch.records.at(-1)!.offset + 1n)
    },
  })
  return { member, records, partitions: () => partitions }
}

const valuesOf = (records: readonly LogRecord[], key: string) =>
  records.filter(record => record.key === key).map(record => Number(record.value))

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

test('messages of a key are stored and read in the order they were sent, however the calls overlap', async () => {
  const { log, topic } = await prepared(3)
  const keys = ['a', 'b', 'c', 'd']
  const replies = await Promise.all(
    upTo(20).flatMap(i => keys.map(key => log.sender.send(topic, numbered(key, i * 5, 5)))),
  )
  for (const reply of replies) expect(reply.length).toBe(5)
  const positions = replies.flat().map(reply => (reply === 'too_large' ? reply : `${reply.partition}:${reply.offset}`))
  expect(new Set(positions).size).toBe(400)
  const { records } = collect(log, topic, { batchMax: 7 })
  await until('all messages', () => records.length >= 400)
  for (const key of keys) {
    expect(valuesOf(records, key)).toEqual(upTo(100))
    expect(new Set(records.filter(one => one.key === key).map(one => one.partition))).toEqual(
      new Set([log.partitionOf(topic, key)]),
    )
  }
  expect(records[0]).toMatchObject({ headers: { kind: 'number' } })
  await until('the commits', async () =>
    (await log.progress(topic, `${topic}.readers`)).every(one => (one.committed ?? 0n) === one.end),
  )
})

test('what is too large for the topic is told, and the rest is stored', async () => {
  const { log, topic } = await prepared(1)
  const huge = { key: 'k', value: 'x'.repeat(2 ** 20) }
  const large = upTo(5).map(i => ({ key: 'k', value: `${i}${'y'.repeat(400_000)}` }))
  const replies = await log.sender.send(topic, [large[0]!, huge, ...large.slice(1)])
  expect(replies.map(reply => (reply === 'too_large' ? reply : Number(reply.offset)))).toEqual([
    0,
    'too_large',
    1,
    2,
    3,
    4,
  ])
  const last = await log.tail(topic, 2)
  expect(last.map(record => record.value[0])).toEqual(['3', '4'])
})

test('a batch that is not committed is given again, and one partition that fails holds up no other', async () => {
  const { log, topic } = await prepared(4)
  const [bad, good] = [upTo(50).map(String), upTo(50).map(String)].map((keys, i) =>
    keys.find(key => log.partitionOf(topic, key) === i),
  ) as [string, string]
  await log.sender.send(topic, [...numbered(bad, 0, 10), ...numbered(good, 0, 10)])
  let refusals = 0
  const { records } = collect(log, topic, {
    batchMax: 5,
    async tell(batch) {
      if (batch.partition !== 0 || refusals >= 3) return
      refusals += 1
      throw new Fault('ledger_away', 'not now', { retryable: true })
    },
  })
  await until('all messages', () => records.length >= 20)
  expect(valuesOf(records, bad)).toEqual(upTo(10))
  expect(valuesOf(records, good)).toEqual(upTo(10))
  expect(records.findIndex(one => one.key === good)).toBe(0)
})

test('members share the partitions, a joining or leaving one costs no message and no second reading of a committed one', async () => {
  const { log, topic } = await prepared(6)
  const keys = upTo(24).map(i => `item-${i}`)
  const first = collect(log, topic, { batchMax: 3 })
  await until('the first member', () => first.partitions().length === 6)
  let sent = 0
  let sending = true
  const sender = (async () => {
    while (sending) {
      await log.sender.send(
        topic,
        keys.flatMap(key => numbered(key, sent, 1)),
      )
      sent += 1
    }
  })()
  const other = logOf()
  const second = collect(other, topic, { batchMax: 3 })
  await until('both members', () => first.partitions().length === 3 && second.partitions().length === 3)
  const before = second.records.length
  await until('messages for the second', () => second.records.length > before + 50)
  await other.close()
  await until('the first to have all', () => first.partitions().length === 6)
  sending = false
  await sender
  const records = () => [...first.records, ...second.records]
  await until('all messages', () => records().length >= sent * keys.length)
  expect(records().length).toBe(sent * keys.length)
  for (const key of keys) expect(valuesOf(records(), key).sort((a, b) => a - b)).toEqual(upTo(sent))
}, 300_000)

test('a batch under way is committed before its partition changes hands', async () => {
  const { log, topic } = await prepared(2)
  const keys = [0, 1].map(partition => upTo(50).find(i => log.partitionOf(topic, String(i)) === partition)!).map(String)
  await log.sender.send(
    topic,
    keys.flatMap(key => numbered(key, 0, 3)),
  )
  const gate = Promise.withResolvers<void>()
  let held = 0
  const first = collect(log, topic, {
    tell() {
      held += 1
      return gate.promise
    },
  })
  await until('both batches', () => held === 2)
  const other = logOf()
  const second = collect(other, topic)
  await until('the rebalance', () => !first.member.joined())
  // Time enough for a member that would not wait.
  for (let i = 0; i < 5; i++) await log.progress(topic, `${topic}.readers`)
  gate.resolve()
  await until('both members', () => first.partitions().length === 1 && second.partitions().length === 1)
  await log.sender.send(
    topic,
    keys.flatMap(key => numbered(key, 3, 2)),
  )
  const records = () => [...first.records, ...second.records]
  await until('all messages', () => records().length >= 10)
  for (const key of keys) expect(valuesOf(records(), key)).toEqual(upTo(5))
}, 300_000)

test('a member says how far it is behind, and one that stays out comes back', async () => {
  const { log, topic } = await prepared(1)
  await log.sender.send(topic, numbered('k', 0, 30))
  const gate = Promise.withResolvers<void>()
  const { member, records } = collect(log, topic, { batchMax: 10, tell: () => gate.promise })
  const standing = await until('what it holds', () => member.standing().find(one => one.behind === 30))
  expect(Date.now() - standing.oldestSentMs!).toBeLessThan(60_000)
  expect(await log.progress(topic, `${topic}.readers`)).toEqual([
    { partition: 0, start: 0n, end: 30n, committed: undefined },
  ])
  gate.resolve()
  await until('all messages', () => records.length === 30)
  member.stayOut(300)
  await until('it to be out', () => !member.joined())
  await log.sender.send(topic, numbered('k', 30, 5))
  await until('the rest', () => records.length === 35)
  expect(valuesOf(records, 'k')).toEqual(upTo(35))
  expect(member.joined()).toBe(true)
  await until('the last commit', () => member.standing()[0]?.behind === 0)
})

test('a partition that can not be written holds up no other, and is written again when it can be', async () => {
  const log = logOf(2_000)
  const [sick, well] = [`stampede.test-${++topics}`, `stampede.test-${++topics}`]
  await log.prepare([topicSpec(sick, 1), topicSpec(well, 1)])
  const stored = (topic: string, from: number) =>
    log.sender.send(topic, numbered('k', from, 1)).then(
      () => true,
      () => false,
    )
  // A slow machine may need longer than the two seconds to connect.
  for (const topic of [sick, well]) await until('the first is stored', () => stored(topic, 0))
  // Without its topic a partition has no leader, as one whose brokers are gone.
  const admin = new Admin({ clientId: 'operator', bootstrapBrokers: [broker.brokers] })
  await admin.deleteTopics({ topics: [sick] })
  await admin.close()
  const waiting = stored(sick, 1)
  await until('the other is stored meanwhile', () => stored(well, 1))
  expect(await waiting).toBe(false)
  expect(await Promise.all([stored(sick, 2), until('and again', () => stored(well, 2))])).toEqual([false, true])
  await logOf().prepare([topicSpec(sick, 1)])
  await until('it is stored again', () => stored(sick, 3))
  const values = valuesOf(await log.tail(sick, 100), 'k')
  expect(values).toEqual(values.toSorted((a, b) => a - b))
  expect(values.at(-1)).toBe(3)
}, 300_000)

test('a bug in the handling ends the membership and is thrown by check', async () => {
  const { log, topic } = await prepared(1)
  await log.sender.send(topic, numbered('k', 0, 1))
  const { member } = collect(log, topic, { tell: () => Promise.reject(new TypeError('a bug')) })
  await until('the bug', () => {
    try {
      member.check()
      return false
    } catch (error) {
      return error instanceof TypeError
    }
  })
})

test('a topic that does not fit is one line; one that is missing is created', async () => {
  const { log, topic } = await prepared(2)
  const line = async (
    settings: Partial<ReturnType<typeof settingsOf>>,
    spec: Partial<ReturnType<typeof topicSpec>>,
  ) => {
    const other = openLog({ ...settingsOf(broker), ...settings })
    open.push(other)
    return other.prepare([{ ...topicSpec(topic, 2), ...spec }]).then(
      () => 'fits',
      (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : String(error)),
    )
  }
  expect(await line({}, {})).toBe('fits')
  expect(await line({}, { partitions: 1 })).toBe('fits')
  expect(await line({}, { partitions: 3 })).toBe(
    `kafka_topic: Kafka: the topic ${topic} does not fit: has 2 partitions and needs 3 (KAFKA_PARTITIONS)`,
  )
  expect(await line({ replication: 2, minInsync: 2 }, { retentionMs: -1, messageBytesMax: 2 ** 21 })).toBe(
    `kafka_topic: Kafka: the topic ${topic} does not fit: has 1 replicas and needs 2 (KAFKA_REPLICATION); has min.insync.replicas 1 and needs 2 (KAFKA_MIN_INSYNC); has retention.ms 86400000 and needs -1; has max.message.bytes 1048576 and needs 2097152`,
  )
  expect(await line({ replication: 2 }, { name: `${topic}-new` })).toBe(
    `kafka_topic: Kafka: the topic ${topic}-new does not fit: KAFKA_REPLICATION is 2, and there are 1 brokers`,
  )
  await Promise.all([logOf(), logOf()].map(log => log.prepare([topicSpec(`${topic}-both`, 2)])))
  await log.ping()
})
