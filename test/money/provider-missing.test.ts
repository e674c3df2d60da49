/** A provider that was taken out of the settings while payments of it were open. */

import { afterEach, expect, test } from 'bun:test'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('an open payment whose provider is not configured any more is a trouble of its own and a metric, until it is ended', async () => {
  const stage = await MoneyStage.set(playground, { units: 5, payWithinSeconds: 900 })
  const { order } = await stage.billed()
  const trouble = async () => {
    const { trouble } = (await stage.till.operator('GET', '/trouble')) as unknown as {
      readonly trouble: readonly { readonly code: string; readonly which?: string; readonly count?: number }[]
    }
    return trouble.find(({ code }) => code === 'provider_missing')
  }
  const metric = async () => {
    const response = await fetch(`${stage.site.url()}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    const value = /^stampede_payments_unconfigured (\d+)$/m.exec(await response.text())?.[1]
    return value === undefined ? undefined : Number(value)
  }
  await until('the metric says none', async () => (await metric()) === 0)
  expect(await trouble()).toBeUndefined()

  await sql(stage.dataDir, "UPDATE payments SET provider = 'formerpay' WHERE order_id = $1", [order.id])
  expect(await until('the trouble', trouble)).toMatchObject({ which: 'formerpay', count: 1 })
  await until('the metric says one', async () => (await metric()) === 1)

  // The order itself can be cancelled: only the payment stays open, and its sale unsettled.
  expect((await stage.till.cancel(order)).status).toBe(200)
  expect(await trouble()).toMatchObject({ which: 'formerpay', count: 1 })

  await sql(stage.dataDir, "UPDATE payments SET state = 'void' WHERE order_id = $1", [order.id])
  await until('no trouble any more', async () => (await trouble()) === undefined)
  await until('the metric says none', async () => (await metric()) === 0)
}, 300_000)
