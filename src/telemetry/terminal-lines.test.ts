import { expect, test } from 'bun:test'
import { createPinoLog } from './pino-log.ts'
import { createTerminalLines } from './terminal-lines.ts'

function logged(colours = false) {
  const lines: string[] = []
  const log = createPinoLog('info', { lines: createTerminalLines(text => void lines.push(text), colours) })
  return { log, lines }
}

test('a line has the time of day, the message and its fields', () => {
  const { log, lines } = logged()
  log.info({ event: 'item_on_sale', item: '42', epoch: 3 }, 'item on sale')
  expect(lines).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d item on sale item=42 epoch=3\n$/)])
})

test('on a terminal what only informs is one row; a warning is whole', () => {
  const lines: string[] = []
  const log = createPinoLog('info', {
    lines: createTerminalLines(
      text => void lines.push(text),
      false,
      () => 40,
    ),
  })
  log.info({ event: 'item_on_sale', item: '4'.repeat(60) }, 'item on sale')
  log.warn({ event: 'ledger_awaited', why: 'w'.repeat(60) }, 'waiting')
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d item on sale item=4+…\n$/)
  expect(lines[0]!.trimEnd()).toHaveLength(40)
  expect(lines[1]).toContain('w'.repeat(60))
})

test('warnings and errors have a word in front, and the message of their cause', () => {
  const { log, lines } = logged()
  log.warn({ event: 'ledger_awaited' }, 'waiting')
  log.error({ event: 'alarm', err: new Error('connection\n refused') }, 'the ledger is away')
  expect(lines[0]).toEndWith(' warning: waiting\n')
  expect(lines[1]).toEndWith(' ERROR: the ledger is away: connection refused\n')
})

test('lists and objects are counted, long values cut, secrets hidden', () => {
  const { log, lines } = logged()
  log.info(
    {
      event: 'starting',
      config: { a: 1, b: 2 },
      applied: ['x', 'y', 'z'],
      one: ['x'],
      long: 'é'.repeat(200),
      token: 'abc',
    },
    'm',
  )
  expect(lines[0]).toContain(` config=(2 fields) applied=(3) one=x long=${'é'.repeat(80)}… token=[hidden]\n`)
})

test('text from outside can not move the cursor', () => {
  const { log, lines } = logged()
  log.info({ event: 'answered', buyer: '\x1b[2Jada\r\n' }, 'asked \x07')
  expect(lines[0]?.trimEnd()).not.toMatch(/\p{Cc}/u)
})

test('colours only where they are wanted', () => {
  const { log, lines } = logged(true)
  log.error({ event: 'alarm' }, 'broken')
  expect(lines[0]).toContain('\x1b[31mERROR: broken\x1b[0m')
})
