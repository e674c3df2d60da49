import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { childEnd } from '../../src/base/child-end.ts'
import { payUrlOf, Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'
import { until, within } from '../harness/until.ts'
import { WebhookDesk } from '../webhooks/webhook-desk.ts'
import { SmtpServer } from './smtp-server.ts'

setDefaultTimeout(300_000)

const EXAMPLE = resolve(import.meta.dirname, '../../examples/mail/main.mjs')
const BUYERS = {
  ann: { address: 'ann@shop.example', language: 'en' },
  bo: { address: 'bo@shop.example', language: 'zh' },
  cyd: { address: 'nobody@shop.example', language: 'en' },
  dee: { address: 'later@shop.example', language: 'en' },
  eve: { address: 'busy@shop.example', language: 'en' },
}

const playground = new Playground()
afterEach(() => playground.undo())

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'stampede-mail-'))
  playground.onUndo(() => rmSync(made, { recursive: true, force: true }))
  writeFileSync(join(made, 'buyers.json'), JSON.stringify(BUYERS))
  return made
}

/** The example in a process of its own, on Node, as a shop would run it. */
function startExample(way: 'feed' | 'webhook', into: string, smtp: SmtpServer, env: Readonly<Record<string, string>>) {
  const child = spawn('node', [EXAMPLE, way], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SMTP_URL: smtp.url,
      MAIL_FROM: 'Shop <orders@shop.example>',
      BUYERS_FILE: join(into, 'buyers.json'),
      CURSOR_FILE: join(into, 'cursor'),
      ORDER_PAGE: 'https://sale.example/orders/{order}',
      RETRY_MS: '1',
      ...env,
    },
  })
  let output = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  const ended = childEnd(child)
  playground.onUndo(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    lines: () =>
      output
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line) as Record<string, unknown>),
    ended: () => within('the end of the example', 120_000, ended),
    async stop() {
      child.kill('SIGTERM')
      expect((await this.ended()).code).toBe(0)
    },
  }
}

async function openShop(env: Readonly<Record<string, string>> = {}) {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 50, sku: 'TEA-1' }])
  return {
    server,
    till: new Till(() => server.url()),
    async buy(buyer: string): Promise<string> {
      const { answer } = await shop.order(await shop.ticket(buyer, sale.id, sale.items[0]!.id), 1)
      if (!('order' in answer)) throw new Error(`no order: ${JSON.stringify(answer)}`)
      return answer.order.id
    },
  }
}

test('from the feed: buyers are mailed in their language, in order, each event at least once, and a repeated mail has the same id', async () => {
  const smtp = await SmtpServer.start(playground)
  const { server, till, buy } = await openShop()
  const into = folder()
  const cursor = join(into, 'cursor')
  const env = { STAMPEDE_URL: server.url(), STAMPEDE_TOKEN: ADMIN_TOKEN }
  // What happened before the first start is not mailed.
  await buy('ann-before')
  const first = startExample('feed', into, smtp, env)
  await until('a first cursor', () => {
    try {
      return readFileSync(cursor, 'utf8').trim() !== ''
    } catch {
      return false
    }
  })
  const begin = readFileSync(cursor, 'utf8')

  const paid = await buy('ann')
  await till.decide(payUrlOf(await till.pay(await till.order(paid))), 'approve')
  await until('the order is paid', async () => (await till.order(paid)).state === 'paid')
  expect((await till.refund(paid, false)).status).toBe(200)
  for (const buyer of ['cyd', 'stranger', 'eve', 'dee']) await buy(buyer)
  const cancelled = await buy('bo')
  await till.cancel(await till.order(cancelled))

  const subjects = () => smtp.mails().map(({ to, subject }) => `${to}: ${subject}`)
  await until('the last mail', () => subjects().some(line => line.startsWith('bo@') && line.includes('已取消')))
  await first.stop()
  expect(subjects()).toEqual([
    expect.stringMatching(new RegExp(`^ann@shop.example: Order ${paid}: please pay until `)),
    `ann@shop.example: Order ${paid} is paid`,
    `ann@shop.example: Order ${paid} is refunded`,
    expect.stringMatching(/^later@shop\.example: Order \d+: please pay until /),
    expect.stringMatching(new RegExp(`^bo@shop.example: 订单 ${cancelled}：请在 .* 前付款$`)),
    `bo@shop.example: 订单 ${cancelled} 已取消`,
  ])
  const [placed] = smtp.mails()
  expect(placed!.text).toMatch(/^We keep 1 × TEA-1 \(CN¥1,999\.00\) for you until .*UTC\.\r?\n/)
  expect(placed!.text).toContain(`https://sale.example/orders/${paid}`)
  expect(placed!.id).toMatch(/^<stampede\.\d+\.[0-9a-f]{12}@shop\.example>$/)
  const told = first.lines().map(({ event }) => event)
  expect(told.filter(event => event === 'mail_refused')).toHaveLength(1)
  expect(told.filter(event => event === 'mail_given_up')).toHaveLength(1)
  expect(JSON.stringify(first.lines()), 'no address in the log').not.toContain('@')

  // As if it had died before it remembered: all of it again, recognisable.
  const sent = smtp.mails()
  writeFileSync(cursor, begin)
  const again = startExample('feed', into, smtp, env)
  await until('the last mail again', () => smtp.mails().length === 2 * sent.length)
  await again.stop()
  expect(smtp.mails().map(({ id }) => id)).toEqual([...sent, ...sent].map(({ id }) => id))
  expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length)

  // Without a mail server it ends after some tries, keeps its place, and goes on there.
  await smtp.kill()
  const kept = readFileSync(cursor, 'utf8')
  const late = await buy('ann-late').then(() => buy('bo'))
  const alone = startExample('feed', into, smtp, env)
  expect((await alone.ended()).code).toBe(1)
  expect(alone.lines().at(-1)).toMatchObject({ event: 'ended' })
  expect(Number(readFileSync(cursor, 'utf8'))).toBeLessThanOrEqual(Number(kept) + 1)
  const back = await SmtpServer.start(playground)
  const after = startExample('feed', into, back, env)
  await until('the mail that waited', () => back.mails().some(({ subject }) => subject.includes(late)))
  await after.stop()
})

test('from webhooks: only a signed event is mailed, the answer says whether it was, and a repeated one is not mailed twice', async () => {
  const smtp = await SmtpServer.start(playground)
  const { server, buy } = await openShop({ WEBHOOK_ALLOW_PRIVATE: 'on' })
  const into = folder()
  const secret = `whsec_${Buffer.from('a secret for the tests alone').toString('base64')}`
  const example = startExample('webhook', into, smtp, { STAMPEDE_SECRET: secret, PORT: '0' })
  const listening = await until('it listens', () => example.lines().find(({ event }) => event === 'listening'))
  const url = `http://127.0.0.1:${listening.port}/`

  const eventOf = (id: string, type: string, more: Readonly<Record<string, unknown>> = {}) => ({
    ...{ specversion: '1.0', id, source: 'stampede', type: `stampede.${type}`, subject: '7310000000000001' },
    data: {
      ...{ id: '7310000000000001', sale: '1', item: '2', buyer: 'bo', quantity: 2 },
      amount: { amount: 1_500, currency: 'JPY' },
      payBy: new Date(Date.now() + 600_000).toISOString(),
      ...more,
    },
  })
  const post = async (event: { readonly id: string }, headers: Readonly<Record<string, string>> = {}) => {
    const body = JSON.stringify(event)
    const at = new Date()
    const signed = {
      'webhook-id': event.id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign(event.id, at, body),
    }
    return (await fetch(url, { method: 'POST', body, headers: { ...signed, ...headers } })).status
  }

  const soon = eventOf('1', 'order.closing_soon')
  expect(await post(soon, { 'webhook-signature': 'v1,bm90IHNpZ25lZA==' })).toBe(401)
  expect(await post({ ...soon, id: '9' }, { 'webhook-id': '1' })).toBe(401)
  expect(smtp.mails()).toEqual([])
  expect(await Promise.all([post(soon), post(soon)])).toEqual([204, 204])
  expect(await post(soon)).toBe(204)
  expect(await post(eventOf('2', 'order.closed', { reason: 'unpaid' }))).toBe(204)
  expect(await post(eventOf('3', 'order.closed', { reason: 'refused', buyer: 'ann' }))).toBe(204)
  // Too late to be true, a duplicate that lost, another type, a type of tomorrow, an address that does not exist: nothing to mail.
  expect(await post(eventOf('4', 'order.closing_soon', { payBy: new Date(0).toISOString() }))).toBe(204)
  expect(await post(eventOf('5', 'order.closed', { reason: 'refused', supersededBy: '7' }))).toBe(204)
  expect(await post(eventOf('6', 'item.sold_out'))).toBe(204)
  expect(await post(eventOf('7', 'order.shipped'))).toBe(204)
  expect(await post(eventOf('8', 'order.paid', { buyer: 'cyd' }))).toBe(204)
  // Refused for now: Stampede is to try again.
  expect(await post(eventOf('10', 'order.paid', { buyer: 'dee' }))).toBe(503)
  expect(await post(eventOf('10', 'order.paid', { buyer: 'dee' }))).toBe(204)
  expect(await post(eventOf('11', 'order.paid', { padding: 'x'.repeat(70_000) }))).toBe(413)
  expect(smtp.mails().map(({ to, subject }) => [to, subject])).toEqual([
    ['bo@shop.example', '订单 7310000000000001：付款时间即将结束'],
    ['bo@shop.example', '订单 7310000000000001 已关闭'],
    ['ann@shop.example', 'Order 7310000000000001 could not be placed'],
    ['later@shop.example', 'Order 7310000000000001 is paid'],
  ])
  expect(smtp.mails()[0]!.text).toContain('您的商品 × 2（JP¥1,500）')

  // With Stampede itself: an endpoint of its own, because Stampede makes the secret.
  const desk = new WebhookDesk(() => server.url())
  const hook = await desk.create({ url, types: ['stampede.order.placed'] })
  await example.stop()
  const real = startExample('webhook', into, smtp, {
    STAMPEDE_SECRET: hook.secret,
    PORT: String(listening.port),
  })
  await until('it listens again', () => real.lines().some(({ event }) => event === 'listening'))
  const order = await buy('ann')
  await until('the mail', () => smtp.mails().some(({ subject }) => subject.includes(order)))
  await until('the delivery', async () => (await desk.find(hook.id)).state === 'active')
  await real.stop()
})
