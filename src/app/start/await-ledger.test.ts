import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { awaitLedger, WAIT_MS_MAX } from './await-ledger.ts'

function stage() {
  let ms = 0
  const clock: Clock = {
    now: () => ms,
    elapsed: () => ms,
    async sleep(forMs) {
      ms += forMs
    },
  }
  const said: string[] = []
  const stopping = new AbortController()
  return {
    said,
    stopping,
    passed: () => ms,
    options: { clock, stopping: stopping.signal, onWaiting: (why: string) => void said.push(why) },
  }
}

const away = () =>
  Promise.reject(new Fault('ledger_away', 'the ledger did not answer: ECONNREFUSED', { retryable: true }))

test('a ledger that stays away is waited for, said once, and ends the start with one line that says what to do', async () => {
  const { said, passed, options } = stage()
  const ended = await awaitLedger(away, options).catch((error: unknown) => error)
  expect(ended).toBeInstanceOf(Fault)
  const line = (ended as Fault).message
  for (const words of ['has not answered for 60 s', 'ECONNREFUSED', 'start it, or correct DATABASE_URL'])
    expect(line).toContain(words)
  expect(line).not.toContain('\n')
  expect(passed()).toBe(WAIT_MS_MAX)
  expect(said).toEqual(['the ledger did not answer: ECONNREFUSED'])
})

test('a ledger that refuses the connection is not waited for', async () => {
  const { said, passed, options } = stage()
  const refused = () => Promise.reject(new Fault('ledger_refused', 'DATABASE_URL: PostgreSQL refuses the connection'))
  await expect(awaitLedger(refused, options)).rejects.toThrow('refuses the connection')
  expect([passed(), said]).toEqual([0, []])
})

test('a start that is told to stop waits no longer', async () => {
  const { stopping, options } = stage()
  const call = () => {
    stopping.abort()
    return away()
  }
  expect(await awaitLedger(call, options)).toBeUndefined()
})
