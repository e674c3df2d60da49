/** What stands in front: real HTTPS servers with certificates that browsers would refuse, and with one they would take. */

import { afterEach, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { Playground } from '../../../test/harness/playground.ts'
import { answer, makeCertificate, openReceiver } from '../../../test/harness/webhook-receiver.ts'
import { systemClock } from '../../base/clock.ts'
import { checkFront } from './live-front.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const DAY_MS = 86_400_000
const time = (ms = Date.now()) => answer(200, JSON.stringify({ unixMs: ms }), { 'content-type': 'application/json' })
const statesOf = (found: Awaited<ReturnType<typeof checkFront>>) =>
  Object.fromEntries(found.map(({ what, state }) => [what.replace('live: ', ''), state]))

test('a certificate that browsers refuse is bad; one they take is good, and odd when it ends soon', async () => {
  const certificate = makeCertificate('localhost')
  const front = await openReceiver(playground, time(), certificate)
  const at = front.url('', 'localhost')
  const [refused] = await checkFront({ publicUrl: at, clock: systemClock })
  expect(refused).toMatchObject({ what: 'live: certificate', state: 'bad', advice: expect.any(String) })
  const [soon] = await checkFront({ publicUrl: at, clock: systemClock, ca: certificate.cert })
  expect(soon).toMatchObject({ state: 'odd', found: expect.stringMatching(/^ends in [12] days$/) })
  const early = { ...systemClock, now: () => Date.now() - 30 * DAY_MS }
  expect((await checkFront({ publicUrl: at, clock: early, ca: certificate.cert }))[0]).toMatchObject({ state: 'good' })
  const another = await checkFront({ publicUrl: front.url(), clock: systemClock, ca: certificate.cert })
  expect(another[0], 'it is for another name').toMatchObject({ state: 'bad' })
})

test('an address that is not this shop, is silent, is away or has another time is found', async () => {
  const front = await openReceiver(playground, time())
  const at = { publicUrl: front.url(''), clock: systemClock }
  expect(statesOf(await checkFront(at))).toEqual({ 'the way to this shop': 'good' })
  front.answering = time(Date.now() - 60_000)
  expect(statesOf(await checkFront(at))).toEqual({ clock: 'odd' })
  for (const wrong of [answer(404, '{}'), answer(200, '<html>'), answer(301, '', { location: 'https://x.example' })]) {
    front.answering = wrong
    expect(statesOf(await checkFront(at))).toEqual({ 'the way to this shop': 'bad' })
  }
  await front.die()
  expect(statesOf(await checkFront(at))).toEqual({ 'the way to this shop': 'bad' })

  const rude = createServer(socket => void socket.end('220 mail\r\n'))
  await new Promise<void>(listening => rude.listen(0, '127.0.0.1', listening))
  playground.onUndo(() => void rude.close())
  const { port } = rude.address() as { port: number }
  const found = await checkFront({ publicUrl: `https://127.0.0.1:${port}`, clock: systemClock })
  expect(statesOf(found)).toEqual({ certificate: 'bad', 'the way to this shop': 'bad' })
  expect(await checkFront({ publicUrl: undefined, clock: systemClock })).toEqual([])
})
