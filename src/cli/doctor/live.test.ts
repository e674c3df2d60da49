import { afterEach, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:http'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { checkLive } from './live.ts'

let server: Server | undefined
afterEach(() => void server?.close())

/** Answers every request alike; returns its address and what was asked. */
async function listen(status: number, body: string) {
  const asked: string[] = []
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(status, { 'content-type': 'application/problem+json' }).end(body)
  })
  await new Promise<void>(listening => server?.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, asked }
}

const provider = (more: Partial<PaymentProvider> = {}) => ({ name: 'bank', ...more }) as unknown as PaymentProvider
const settings = { publicUrl: undefined, guestSignIn: false, paymentProviders: ['bank'] }
const states = async (...given: Parameters<typeof checkLive>) =>
  Object.fromEntries((await checkLive(...given)).map(({ what, state }) => [what.replace('live: ', ''), state]))

test('a shop that is not ready for real buyers is told what to change, each with what to do', async () => {
  const trying = { publicUrl: undefined, guestSignIn: true, paymentProviders: ['sandbox'] }
  const found = await checkLive(trying, [], systemClock)
  expect(found.map(({ what, state }) => `${what} ${state}`)).toEqual([
    'live: providers bad',
    'live: sandbox bad',
    'live: guests bad',
    'live: PUBLIC_URL bad',
  ])
  expect(found.every(({ advice }) => advice !== undefined)).toBe(true)
  const { url } = await listen(404, '')
  for (const publicUrl of [url, 'https://localhost', 'https://192.168.1.7', 'http://shop.example', 'https://[::1]'])
    expect((await states({ ...settings, publicUrl }, [], systemClock)).PUBLIC_URL, publicUrl).toBe('bad')
  expect(await states({ ...settings, publicUrl: 'https://shop.example' }, [], systemClock)).toEqual({
    providers: 'good',
    sandbox: 'good',
    guests: 'good',
    PUBLIC_URL: 'good',
  })
})

test('the callback address is good only if it refuses what is not signed', async () => {
  const at = async (status: number, body: string, more: Partial<PaymentProvider> = {}) => {
    const { url, asked } = await listen(status, body)
    const found = await states({ ...settings, publicUrl: `${url}/` }, [provider(more)], systemClock)
    return [found['bank: callback address'], asked]
  }
  const refusal = '{"code":"signature_invalid"}'
  expect(await at(401, refusal)).toEqual(['good', ['POST /api/payments/bank/callback']])
  expect(await at(401, refusal, { reports: true })).toEqual(['good', ['POST /api/payments/bank/captures']])
  expect((await at(200, 'ok'))[0], 'it takes what is not signed').toBe('bad')
  expect((await at(401, 'sign in first'))[0]).toBe('bad')
  for (const status of [301, 404, 502]) expect((await at(status, refusal))[0], `${status}`).toBe('bad')
  const away = await states({ ...settings, publicUrl: 'http://127.0.0.1:1' }, [provider()], systemClock)
  expect(away['bank: callback address']).toBe('bad')
})

test('what a provider finds wrong is bad, with its words as the advice; one that does not answer too', async () => {
  const findings = [
    { what: 'clock', ok: true, detail: '1 s' },
    { what: 'webhook secret', ok: false, detail: 'Set it.' },
  ]
  const found = await checkLive(settings, [provider({ examine: async () => findings })], systemClock)
  expect(found.slice(-2)).toEqual([
    { what: 'live: bank: clock', state: 'good', found: '1 s' },
    { what: 'live: bank: webhook secret', state: 'bad', found: 'not as it must be', advice: 'Set it.' },
  ])
  const silent = provider({
    examine: async () => {
      throw new Fault('payment_unreachable', 'no answer', { retryable: true })
    },
  })
  expect(await states(settings, [silent], systemClock)).toMatchObject({ 'bank: keys': 'bad' })
})
