import { expect, test } from 'bun:test'
import { systemClock } from './clock.ts'
import { Fault } from './fault.ts'
import type { Log } from './log.ts'
import { OutageLog } from './outage-log.ts'

function open() {
  let nowMs = 0
  const lines: string[] = []
  const write =
    (level: string) =>
    ({ failed, forMs, code }: Readonly<Record<string, unknown>>, message: string) =>
      void lines.push([level, message, code, failed, forMs].filter(one => one !== undefined).join(' '))
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const clock = { ...systemClock, elapsed: () => nowMs }
  const outage = new OutageLog({ clock, log }, {}, { event: 'busy', begins: 'begins', lasts: 'lasts', ends: 'ends' })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { outage, lines, pass }
}

const AWAY = new Fault('away', 'it is away', { retryable: true })

test('what fails four times a second for a minute is one line, a count every half minute, and one when it ends', () => {
  const { outage, lines, pass } = open()
  for (let i = 0; i < 250; i++) {
    outage.failed(AWAY)
    pass(250)
  }
  outage.worked()
  pass(5_000)
  outage.worked()
  outage.worked()
  expect(lines).toEqual(['warn begins away', 'warn lasts 121 30000', 'warn lasts 241 60000', 'warn ends 250 62250'])
  outage.failed(AWAY)
  expect(lines).toHaveLength(5)
})

test('what works in between is one outage, and a second cause has its own line', () => {
  const { outage, lines, pass } = open()
  for (let i = 0; i < 100; i++) {
    outage.failed(AWAY)
    outage.worked()
    pass(100)
  }
  for (let i = 0; i < 3; i++) outage.failed(new TypeError(`a bug ${i}`))
  expect(lines).toEqual(['warn begins away', 'error begins'])
})

test('however many kinds there are, the lines are bounded', () => {
  const { outage, lines } = open()
  for (let i = 0; i < 1_000; i++) outage.failed(new Fault(`code-${i}`, 'away'))
  expect(lines).toHaveLength(8)
})
