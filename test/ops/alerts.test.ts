/** Alerts from a real server: a trouble is told by each way that is set up, beside receivers that fail and hang; the test, the CLI, and no secret in what is printed. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import type { AlertsAnswer, AlertTestAnswer } from '../../src/wire/alerts/alert-shapes.ts'
import { assertDescribed } from '../harness/described.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { answer, hang, openReceiver } from '../harness/webhook-receiver.ts'
import { SmtpServer } from '../mail/smtp-server.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const SECRET = `whsec_${Buffer.from('a secret for the tests alone').toString('base64')}`
const VIEWER = 'viewer-token-of-the-tests-only'

async function ask<T>(
  url: string,
  method: string,
  path: string,
  token = ADMIN_TOKEN,
): Promise<{ status: number; body: T }> {
  const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  assertDescribed(method, path, response.status, response.headers, text)
  return { status: response.status, body: JSON.parse(text) as T }
}

test('a trouble is told by webhook, chat and e-mail, once each, while buyers buy; a channel that hangs or fails is shown and told later', async () => {
  const smtp = await SmtpServer.start(playground)
  const hook = await openReceiver(playground, hang)
  const chat = await openReceiver(playground, answer(200, 'ok'))
  const folder = mkdtempSync(join(tmpdir(), 'stampede-alerts-'))
  playground.onUndo(() => rmSync(folder, { recursive: true, force: true }))
  const slackUrl = chat.url('/services/T000/B000/secret-of-the-chat')
  writeFileSync(join(folder, 'slack'), `${slackUrl}\n`)
  const env = {
    ALERT_WEBHOOK_URL: hook.url('/hook/secret-of-the-hook'),
    ALERT_WEBHOOK_SECRET: SECRET,
    ALERT_SLACK_URL_FILE: join(folder, 'slack'),
    ALERT_EMAIL_TO: 'ops@shop.example, night@shop.example',
    ALERT_EMAIL_FROM: 'alerts@shop.example',
    ALERT_SMTP_URL: smtp.url,
    ALERT_TIMEOUT_MS: '3000',
    ALERT_ALLOW_PRIVATE: '127.0.0.0/8',
    ADMIN_TOKENS: `eve:viewer:${VIEWER}`,
    PUBLIC_URL: 'http://shop.example',
    LOG_LEVEL: 'debug',
  }
  // The sandbox, of a server that is not at home, is a trouble of its own.
  const server = await Stampede.start(playground, {
    dataDir: playground.dataDir(),
    env,
  })
  const url = server.url()
  await until('chat and mail are told', () => chat.received.length > 0 && smtp.mails().length > 0)
  expect(JSON.parse(chat.received[0]!.body).text).toStartWith(
    '*[Stampede] A setting is for trying or testing (PAYMENT_PROVIDERS)*\nStampede at http://shop.example: 1 trouble began.',
  )
  expect(smtp.mails()[0]).toMatchObject({
    everybody: ['ops@shop.example', 'night@shop.example'],
    subject: '[Stampede] A setting is for trying or testing (PAYMENT_PROVIDERS)',
  })

  // The webhook hangs: that is seen, and nobody waits for it.
  const shop = new Shop(() => url)
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  const bought = await shop.order(await shop.ticket('ann', sale.id, sale.items[0]!.id), 1)
  expect(bought.answer).toHaveProperty('order')
  const states = async () => (await ask<AlertsAnswer>(url, 'GET', '/api/admin/alerts', VIEWER)).body.channels
  await until('it is seen that the webhook fails', async () => (await states())[0]!.failingSince !== null)
  expect(await states()).toMatchObject([
    { channel: 'webhook', waiting: 1, toldAt: null, problem: 'No answer in time.' },
    { channel: 'slack', waiting: 0, failingSince: null },
    { channel: 'email', waiting: 0, failingSince: null },
  ])
  hook.answering = answer(500)
  const tested = await ask<AlertTestAnswer>(url, 'POST', '/api/admin/alerts/test')
  expect(tested.body.channels).toMatchObject([
    { channel: 'webhook', told: false, problem: 'It answered 500.' },
    { channel: 'slack', told: true },
    { channel: 'email', told: true },
  ])
  expect((await ask(url, 'POST', '/api/admin/alerts/test', VIEWER)).status).toBe(403)

  hook.answering = answer(204)
  await until('the webhook is told too', async () => (await states())[0]!.waiting === 0)
  const last = hook.received.at(-1)!
  new Webhook(SECRET).verify(last.body, last.headers as Record<string, string>)
  expect(JSON.parse(last.body)).toMatchObject({
    type: 'stampede.alert',
    source: 'http://shop.example',
    troubles: [{ kind: 'began', code: 'unsafe_setting', which: 'PAYMENT_PROVIDERS', todo: expect.any(String) }],
  })
  expect(chat.received.map(({ body }) => JSON.parse(body).text.split('\n')[0])).toEqual([
    '*[Stampede] A setting is for trying or testing (PAYMENT_PROVIDERS)*',
    '*[Stampede] Test: alerts arrive*',
  ])
  expect((await server.stop()).code).toBe(0)
  for (const secret of ['secret-of-the-hook', 'secret-of-the-chat', SECRET])
    expect(server.output()).not.toContain(secret)

  // After a restart it is known what was told.
  const again = await Stampede.start(playground, {
    dataDir: server.dataDir,
    env,
  })
  await until('the board shows it', async () => {
    const { body } = await ask<{ trouble: { code: string }[] }>(again.url(), 'GET', '/api/admin/trouble')
    return body.trouble.some(({ code }) => code === 'unsafe_setting')
  })
  const before = chat.received.length
  expect((await ask<AlertTestAnswer>(again.url(), 'POST', '/api/admin/alerts/test')).status).toBe(200)
  expect(chat.received.length).toBe(before + 1)
  await until('the mail of the test', () => smtp.mails().filter(({ subject }) => subject.includes('Test')).length === 2)
  await again.stop()
  expect(smtp.mails().filter(({ subject }) => subject.includes('PAYMENT_PROVIDERS'))).toHaveLength(1)
})
