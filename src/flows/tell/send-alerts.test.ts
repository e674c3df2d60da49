/** Senders of several processes on one real ledger, whose time is moved by moving what is written there back. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import type { AlertChannel, AlertMessage, ChannelName, Told } from '../../alerts/channel.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { noMeters } from '../../base/meters.ts'
import { seededRandom } from '../../base/random.ts'
import { createAlerts } from '../../ledger/postgres/alerts.ts'
import { AlertSender, type SeenTrouble } from './send-alerts.ts'

setDefaultTimeout(120_000)

const ledger = ledgerForFile()
const DAY_S = 86_400
const REPEAT_MS = 900_000

const trouble = (code: string, more: Partial<SeenTrouble> = {}): SeenTrouble => ({ code, sinceMs: 0, ...more })
const STALE = trouble('indexes_missing', { count: 2, words: 'orders_by_buyer' })

/** A channel in memory that fails as long as it is told to. */
function inbox(name: ChannelName) {
  const messages: AlertMessage[] = []
  const state = { fails: false, tries: 0 }
  const channel: AlertChannel = {
    name,
    async send(message): Promise<Told> {
      state.tries += 1
      if (state.fails) return { kind: 'failed', why: 'It answered 500.' }
      messages.push(message)
      return { kind: 'told' }
    },
  }
  const parts = () =>
    messages.flatMap(message => message.parts.map(({ kind, code, times }) => `${kind} ${code} ${times}`))
  return { channel, state, messages, parts }
}

let processes = 0

/** Processes that share the ledger and the channels; each sees what `sees` holds. */
async function stage(count: number, boxes: readonly ReturnType<typeof inbox>[], alone?: () => Promise<boolean>) {
  await ledger.sql('TRUNCATE alerts, alert_messages, alert_channels', [])
  const lines: string[] = []
  const write = (_fields: object, line: string) => void lines.push(line)
  const log = { debug: write, info: write, warn: write, error: write }
  const sees: SeenTrouble[] = []
  let sending = 0
  const time = { addedMs: 0, away: false }
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + time.addedMs }
  const real = createAlerts(ledger.database)
  const away = () => Promise.reject(new Fault('ledger_away', 'the ledger is away', { retryable: true }))
  const alerts: typeof real = {
    note: (...given) => (time.away ? away() : real.note(...given)),
    open: (...given) => (time.away ? away() : real.open(...given)),
    async claim(...given) {
      if (time.away) return away()
      sending += 1
      const claimed = await real.claim(...given)
      if (claimed === undefined) sending -= 1
      return claimed
    },
    async settle(...given) {
      if (time.away) return away()
      const settled = await real.settle(...given)
      sending -= 1
      return settled
    },
    channels: (...given) => (time.away ? away() : real.channels(...given)),
  }
  const begin = () =>
    new AlertSender({
      alerts,
      channels: boxes.map(({ channel }) => channel),
      troubles: () => sees,
      namesOf: () => ({}),
      maySendAlone: alone ?? (async () => true),
      holder: `process-${processes++}`,
      process: 'edge-1',
      source: 'https://shop.example',
      page: undefined,
      repeatMs: REPEAT_MS,
      timeoutMs: 5_000,
      clock,
      random: seededRandom(7),
      meters: noMeters,
      log,
    })
  const senders = Array.from({ length: count }, begin)
  return {
    senders,
    sees,
    time,
    lines,
    begin,
    /** Lets so much time pass for the ledger and the processes. */
    async pass(seconds: number) {
      time.addedMs += seconds * 1000
      const back = `- ${seconds} * interval '1 s'`
      await ledger.sql(
        `UPDATE alerts SET began_at = began_at ${back}, seen_at = seen_at ${back}, told_at = told_at ${back}`,
        [],
      )
      await ledger.sql(`UPDATE alert_messages SET at = at ${back}`, [])
      await ledger.sql(
        `UPDATE alert_channels SET held_until = held_until ${back}, next_at = next_at ${back}, failing_since = failing_since ${back}`,
        [],
      )
    },
    /** Rounds of all processes at the same time, until nothing is being sent. */
    async rounds(times = 3) {
      for (let i = 0; i < times; i++) {
        await Promise.all(senders.map(sender => sender.round()))
        await until('nothing is being sent', () => sending === 0)
      }
    },
  }
}

test('five processes see a trouble begin and end: each channel is told each once', async () => {
  const boxes = [inbox('webhook'), inbox('email')]
  const { sees, rounds, pass } = await stage(5, boxes)
  sees.push(STALE)
  await rounds()
  for (const { parts } of boxes) expect(parts()).toEqual(['began indexes_missing 1'])
  for (const second of [20, 20, 20, 20]) {
    await pass(second)
    await rounds()
  }
  for (const { parts } of boxes) expect(parts()).toHaveLength(1)
  sees.pop()
  await pass(30)
  await rounds()
  for (const { parts } of boxes) expect(parts(), 'gone for half a minute is not over').toHaveLength(1)
  await pass(40)
  await rounds()
  for (const { parts } of boxes) expect(parts()).toEqual(['began indexes_missing 1', 'ended indexes_missing 1'])
})

test('a trouble that comes and goes for a quarter of an hour is told once, and then how often it came', async () => {
  const box = inbox('slack')
  const { sees, rounds, pass } = await stage(2, [box])
  await rounds(1)
  await pass(61)
  for (let i = 0; i < 6; i++) {
    sees.push(STALE)
    await pass(20)
    await rounds(2)
    sees.pop()
    await pass(61)
    await rounds(2)
  }
  expect(box.parts()).toEqual(['began indexes_missing 1', 'ended indexes_missing 1'])
  await pass(REPEAT_MS / 1000)
  sees.push(STALE)
  await rounds()
  expect(box.parts().at(-1)).toMatch(/^began indexes_missing [1-6]$/)
  expect(box.messages).toHaveLength(3)
})

test('a storm of troubles is one message, not hundreds', async () => {
  const box = inbox('email')
  const { sees, rounds } = await stage(3, [box])
  for (let i = 0; i < 150; i++) sees.push(trouble('unsettled', { item: `${i}` }))
  await rounds()
  expect(box.messages).toHaveLength(1)
  expect(box.messages[0]!.parts).toHaveLength(150)
})

test('a channel that fails keeps its messages, holds up no other, and is told after a restart', async () => {
  const [good, bad] = [inbox('webhook'), inbox('slack')]
  const { senders, sees, rounds, pass, begin, lines } = await stage(1, [good, bad])
  bad.state.fails = true
  sees.push(STALE)
  await rounds()
  expect(good.parts()).toEqual(['began indexes_missing 1'])
  expect(bad.state.tries, 'the next try has to wait').toBe(1)
  for (let i = 0; i < 4; i++) {
    await pass(600)
    await rounds(1)
  }
  expect(bad.state.tries).toBe(5)
  expect(senders[0]!.failing()).toEqual([{ channel: 'slack', words: 'It answered 500.' }])
  expect(lines, 'one line, not one for each try').toEqual(['alert not told; it is tried again'])
  await senders[0]!.stop()
  bad.state.fails = false
  await pass(600)
  const restarted = begin()
  await restarted.round()
  await until('it is told', () => bad.messages.length === 1)
  expect(bad.parts()).toEqual(['began indexes_missing 1'])
  await restarted.stop()
})

test('what could not be told for a day is given up, and what is new is told', async () => {
  const box = inbox('webhook')
  const { sees, rounds, pass, lines } = await stage(1, [box])
  box.state.fails = true
  sees.push(STALE)
  await rounds()
  await pass(DAY_S + 1)
  box.state.fails = false
  sees.push(trouble('ledger_away'))
  await rounds()
  expect(box.parts()).toEqual(['began ledger_away 1'])
  expect(lines.some(line => line.startsWith('alerts given up'))).toBe(true)
})

test('a process that dies while it sends leaves the message to another one', async () => {
  const box = inbox('webhook')
  const { senders, sees, rounds, pass } = await stage(1, [box])
  sees.push(STALE)
  // It claims, and is not heard of again.
  await senders[0]!.round()
  await until('it is told', () => box.messages.length === 1)
  await rounds(1)
  await ledger.sql(
    "UPDATE alert_channels SET holder = 'dead', held_until = now() + interval '2 min', next_at = '-infinity', cursor = 0",
    [],
  )
  await rounds(1)
  expect(box.messages, 'it may still be sending').toHaveLength(1)
  await pass(121)
  await rounds()
  expect(box.messages.map(({ id }) => id)).toEqual([box.messages[0]!.id, box.messages[0]!.id])
})

test('that the ledger is away is told past it, once by the process that may, and its end when it is back', async () => {
  const box = inbox('slack')
  let asked = 0
  const { sees, rounds, pass, time } = await stage(3, [box], async () => ++asked === 1)
  await rounds()
  time.away = true
  sees.push(trouble('ledger_away'))
  await rounds(4)
  await until('it is told', () => box.messages.length === 1)
  expect(box.parts()).toEqual(['began ledger_away 1'])
  time.away = false
  sees.pop()
  for (let i = 0; i < 5; i++) {
    await pass(20)
    await rounds()
  }
  expect(box.parts()).toEqual(['began ledger_away 1', 'ended ledger_away 1'])
})
