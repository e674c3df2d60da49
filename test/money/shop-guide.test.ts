import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { listenTo } from '../harness/heard-out.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'

const SECRET = '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0'
const playground = new Playground()
afterEach(() => playground.undo())

function guide(): string {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/payments.md'), 'utf8')
  const block = /<!-- till[^>]*-->\n```sh\n([\s\S]*?)```\n<!-- \/till -->/.exec(page)?.[1]
  if (block === undefined) throw new Error('docs/payments.md has no guide between its markers')
  return block
}

// Where there is no curl or openssl, there is nothing to follow the guide with.
test.if(Bun.which('curl') !== null && Bun.which('openssl') !== null)(
  "the guide to the shop's own till leads from the order to paid, refunded and reported, exactly as printed",
  async () => {
    const env = { PAYMENT_PROVIDERS: 'shop', SHOP_PAYMENT_SECRET: SECRET }
    const stage = await MoneyStage.set(playground, { units: 5, payWithinSeconds: 900 }, env)
    const order = await stage.order()
    const child = spawn('sh', ['-e', '-c', guide()], {
      env: {
        PATH: process.env.PATH,
        STAMPEDE: stage.site.url(),
        ADMIN: ADMIN_TOKEN,
        ORDER: order.id,
        SHOP_PAYMENT_SECRET: SECRET,
      },
    })
    playground.onUndo(() => child.kill('SIGKILL'))
    const { code, out, err } = await listenTo(child).ran
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [first, again, feed, refund] = out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(first).toMatchObject({ id: order.id, state: 'paid' })
    expect(again).toEqual(first)
    const due = {
      provider: 'shop',
      ref: 'INV-2026-0001',
      why: 'operator',
      amount: { amount: 199_900, currency: 'CNY' },
    }
    expect(feed.events).toMatchObject([{ type: 'stampede.payment.refund_due', data: { order: order.id, ...due } }])
    expect(refund).toMatchObject({ refundReference: 'CN-2026-0001', state: 'refunded' })
    expect((await stage.till.order(order.id)).payments).toMatchObject([{ ref: 'INV-2026-0001', state: 'refunded' }])
  },
  300_000,
)
