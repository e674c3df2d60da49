/** A broker that is killed, frozen or away: nothing that was acknowledged is lost, nothing is stored twice by one sender, all goes on after. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type KafkaBroker, startKafka } from '../../../test/harness/kafka.ts'
import { Playground } from '../../../test/harness/playground.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault, onFault } from '../../base/fault.ts'
import type { LogRecord, MessageLog } from '../message-log.ts'
import { numbered, openLog, settingsOf, topicSpec } from './kafka-log.fixture.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e']
const CALLS_AT_ONCE = 4

const playground = new Playground()
let broker: KafkaBroker

beforeAll(async () => {
  broker = await startKafka(playground)
}, 300_000)
afterAll(() => playground.undo())

async function prepared(topic: string, sendMsMax?: number): Promise<MessageLog> {
  const log = openLog(settingsOf(broker), sendMsMax)
  playground.onUndo(() => log.close())
  await log.prepare([topicSpec(topic, 3)])
  return log
}

/** A broker that has just come back may not lead all of its partitions yet. */
async function tail(log: MessageLog, topic: string, count: number): Promise<readonly LogRecord[]> {
  let found: readonly LogRecord[] | undefined
  await until('the last messages', async () => {
    found = await onFault(() => log.tail(topic, count))
    return found !== undefined
  })
  return found!
}

function read(log: MessageLog, topic: string) {
  const records: LogRecord[] = []
  const member = log.join({
    group: `${topic}.readers`,
    topic,
    batchMax: () => 50,
    partitionsAtOnceMax: () => 3,
    async handle(batch) {
      if (await batch.commit(batch.records.at(-1)!.offset + 1n)) records.push(...batch.records)
    },
  })
  return { member, records }
}

test('a broker that is killed under load and comes back has all that was acknowledged, once and in order', async () => {
  const topic = 'stampede.killed'
  const log = await prepared(topic, 120_000)
  const { member, records } = read(log, topic)
  let sent = 0
  let sending = true
  const sender = (async () => {
    while (sending) {
      const calls = Array.from({ length: CALLS_AT_ONCE }, (_, i) => KEYS.flatMap(key => numbered(key, sent + i, 1)))
      await Promise.all(calls.map(messages => log.sender.send(topic, messages)))
      sent += CALLS_AT_ONCE
    }
  })()
  await until('messages', () => sent > 50 && records.length > 100)
  await broker.kill()
  await until('the member to notice', () => !member.joined())
  await broker.start()
  const after = sent
  await until('messages after the restart', () => sent > after + 50)
  sending = false
  await sender
  await until('all of them read', () => records.length >= sent * KEYS.length)
  const stored = await tail(log, topic, 100_000)
  for (const key of KEYS) {
    const values = stored.filter(one => one.key === key).map(one => Number(one.value))
    expect(values).toEqual(Array.from({ length: sent }, (_, i) => i))
  }
  // Committed once each: what was read again after a lost commit was not committed before.
  for (const key of KEYS) {
    const seen = records.filter(one => one.key === key).map(one => Number(one.value))
    expect([...new Set(seen)]).toEqual(Array.from({ length: sent }, (_, i) => i))
  }
  await until('the member is in its group', () => member.joined())
}, 300_000)

test('while no broker answers, sending is a fault in time, and nothing sent later overtakes', async () => {
  const topic = 'stampede.away'
  const log = await prepared(topic, 1_000)
  const fault = (call: Promise<unknown>) => call.then(() => undefined).catch((error: unknown) => error)
  // A slow machine may need longer than the second that a send has here to connect.
  const isStored = async () => (await fault(log.sender.send(topic, numbered('k', 0, 1)))) === undefined
  await until('the first is stored', isStored)
  await broker.freeze()
  const [first, second] = [
    fault(log.sender.send(topic, numbered('k', 1, 1))),
    fault(log.sender.send(topic, numbered('k', 2, 1))),
  ]
  expect(await first).toMatchObject({ code: 'kafka_away', retryable: true, outcomeUnknown: true })
  expect(await second).toBeInstanceOf(Fault)
  expect(await fault(log.progress(topic, `${topic}.readers`))).toMatchObject({ code: 'kafka_away' })
  expect(await fault(log.ping())).toMatchObject({ code: 'kafka_away' })
  broker.thaw()
  await until(
    'a message is stored again',
    async () => (await fault(log.sender.send(topic, numbered('k', 3, 1)))) === undefined,
  )
  const values = (await tail(log, topic, 100)).map(one => Number(one.value))
  // The first may be stored by itself; the second was dropped with its caller's answer, 0 and the last may be there more than once.
  expect(values.slice(0, 1)).toEqual([0])
  expect([...new Set(values.filter(value => value < 3))]).toEqual(values.includes(1) ? [0, 1] : [0])
  expect(values.at(-1)).toBe(3)
  expect(values).toEqual(values.toSorted((a, b) => a - b))
}, 300_000)

test('a log that has become shorter is read from its beginning, and what was committed in the longer one does not count', async () => {
  const topic = 'stampede.shorter'
  const said: string[] = []
  const hear = (_: unknown, text: string) => void said.push(text)
  const log = openLog(settingsOf(broker), 60_000, { debug() {}, info() {}, warn: hear, error: hear })
  playground.onUndo(() => log.close())
  await log.prepare([topicSpec(topic, 1)])
  const { member, records } = read(log, topic)
  await log.sender.send(topic, numbered('k', 0, 30))
  await until('all read', () => records.length === 30)
  await broker.kill()
  rmSync(join(broker.dataDir, `${topic}-0`), { recursive: true })
  await broker.start()
  const fresh = openLog(settingsOf(broker))
  playground.onUndo(() => fresh.close())
  await fresh.prepare([topicSpec(topic, 1)])
  await until('messages again', () => onFault(() => fresh.sender.send(topic, numbered('k', 100, 5))))
  await until('they are read', () => records.some(one => one.value === '104'))
  expect(records.slice(30).map(one => Number(one.value))).toEqual([100, 101, 102, 103, 104])
  const progress = await until('the progress', () => onFault(() => fresh.progress(topic, `${topic}.readers`)))
  expect(progress).toMatchObject([{ start: 0n, end: 5n, committed: 5n }])
  expect(said).toContain('offsets are gone; reading on')
  expect(said).toContain('messages of the group are not fetched; tried again')
  await member.stop()
}, 300_000)
