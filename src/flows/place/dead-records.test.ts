/** The copy of a dead letter: what can't be written never holds up what comes behind it. */

import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { LogSender } from '../../kafka/message-log.ts'
import type { Journal } from '../../ledger/journal.ts'
import { withDeadTopic } from './dead-records.ts'
import { bury } from './place-acknowledged.ts'

const LETTER = { item: '1', epoch: 2, entry: 'message 0:7', order: undefined, raw: 'no JSON', why: 'it is no JSON' }

/** A ledger that keeps each letter once, and a log that answers as the test says. */
function lettersTo(send: LogSender['send']) {
  const seen = { rows: new Set<string>(), sends: 0, codes: [] as unknown[], alarms: [] as string[] }
  const time = { ms: 0 }
  const nothing = () => {}
  const warn: Log['warn'] = fields => void seen.codes.push((fields as { code?: unknown }).code)
  const journal: Pick<Journal, 'writeDeadLetter'> = {
    async writeDeadLetter({ entry }) {
      const isNew = !seen.rows.has(entry)
      seen.rows.add(entry)
      return isNew
    },
  }
  const sender: LogSender = {
    send(...args) {
      seen.sends += 1
      return send(...args)
    },
  }
  const clock = { ...systemClock, elapsed: () => time.ms }
  const log = { debug: nothing, info: nothing, warn, error: nothing }
  const letters = withDeadTopic({ journal, sender, topic: 'dead', clock, log }, 3)
  const buried = () => bury({ journal: letters, alarm: what => void seen.alarms.push(what) }, LETTER)
  return { seen, time, buried }
}

const stored: LogSender['send'] = async () => [{ partition: 0, offset: 0n }]

test('a letter that is read again is copied again, and raises no second alarm', async () => {
  const { seen, buried } = lettersTo(stored)
  expect(await buried()).toBeUndefined()
  expect(await buried()).toBeUndefined()
  expect(seen).toMatchObject({ sends: 2, codes: [], alarms: ['dead_letter'] })
})

test('a topic that refuses is asked once, one that does not answer three times; then the letter counts without a copy', async () => {
  for (const [code, retryable, sends] of [
    ['kafka_refused', false, 1],
    ['kafka_away', true, 3],
  ] as const) {
    const { seen, time, buried } = lettersTo(() => Promise.reject(new Fault(code, 'no', { retryable })))
    expect(await buried()).toBeUndefined()
    expect(seen).toMatchObject({ sends, codes: [code], alarms: ['dead_letter'] })
    // The next letters do not wait for it one after the other.
    expect(await buried()).toBeUndefined()
    expect(seen).toMatchObject({ sends, codes: [code, 'resting'] })
    time.ms = 60_000
    expect(await buried()).toBeUndefined()
    expect(seen.sends).toBe(2 * sends)
  }
})

test('a log that is back at the second try has the copy', async () => {
  let away = true
  const { seen, buried } = lettersTo(async (...args) => {
    if (!away) return stored(...args)
    away = false
    throw new Fault('kafka_away', 'no answer', { retryable: true })
  })
  expect(await buried()).toBeUndefined()
  expect(seen).toMatchObject({ sends: 2, codes: [] })
})

test('a letter that is too large for the topic is logged', async () => {
  const { seen, buried } = lettersTo(async () => ['too_large'])
  expect(await buried()).toBeUndefined()
  expect(seen).toMatchObject({ sends: 1, codes: ['too_large'], alarms: ['dead_letter'] })
})

test('a ledger whose answer was lost may have the letter: the alarm is raised', async () => {
  const alarms: string[] = []
  const alarm = (what: string) => void alarms.push(what)
  for (const outcomeUnknown of [true, false]) {
    const away = () => Promise.reject(new Fault('ledger_away', 'no answer', { retryable: true, outcomeUnknown }))
    await expect(bury({ journal: { writeDeadLetter: away }, alarm }, LETTER)).rejects.toThrow('no answer')
  }
  expect(alarms).toEqual(['dead_letter'])
})
