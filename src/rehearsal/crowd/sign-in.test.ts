import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import type { Job } from '../client/pool.ts'
import { createRequests } from '../client/requests.ts'
import { signIn } from './sign-in.ts'

const BUYERS = 100
const requests = createRequests({ host: 'x', port: 1 }, '', { sale: '1', item: '2' })

/** A server that tells each buyer to come later, so many times, before there is a ticket. Time goes on while they wait. */
function crowded(busyTimes: number) {
  let nowMs = 0
  const asked = new Map<string, number>()
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms) {
      // All of them wait side by side.
      nowMs += ms / BUYERS
    },
  }
  const pool = {
    gone: false,
    send({ bytes, answered }: Job) {
      const times = asked.get(String(bytes)) ?? 0
      asked.set(String(bytes), times + 1)
      const given = times >= busyTimes
      const body = Buffer.from(JSON.stringify(given ? { ticket: 't' } : { code: 'busy' }))
      queueMicrotask(() => answered({ status: given ? 201 : 503, bytes: body, bodyAt: 0 }, nowMs))
    },
  }
  const names = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  const asking = { pool, requests, clock, stop: new AbortController().signal }
  const signedIn = signIn(asking, names, { secret: 'secret', now: () => nowMs })
  const tickets = signedIn.then(credentials => credentials.tickets)
  return { tickets, waitedMs: () => nowMs }
}

test('whoever is told to come later comes later, however many they are, as long as somebody gets a ticket', async () => {
  const { tickets } = crowded(20)
  expect(await tickets).toEqual(Array.from({ length: BUYERS }, () => 't'))
})

test('a server that gives nobody anything for a minute is given up', async () => {
  const { tickets, waitedMs } = crowded(Number.POSITIVE_INFINITY)
  expect(await tickets.catch((error: Error) => error.message)).toContain('the server went away')
  expect(waitedMs()).toBeWithin(60_000, 70_000)
})
