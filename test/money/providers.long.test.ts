/** Pay against close, 2,000 orders at each provider; and kill -9 at every point of pay, close and refund, at each. */

import { afterEach, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { KILLS, PROVIDER_NAMES, ProviderStage } from './provider-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const ORDERS = 2_000

for (const name of PROVIDER_NAMES) {
  test(`${name}: 2,000 orders paid around their deadline`, async () => {
    const stage = await ProviderStage.open(playground, [name], ORDERS)
    await stage.payAgainstClose(ORDERS)
  }, 900_000)

  test(`${name}: kill -9 at every point of pay, close and refund`, async () => {
    const stage = await ProviderStage.open(playground, [name], KILLS.length)
    // To a shop's own till no refund is sent: it hears of it by an event.
    for (const point of KILLS) if (name !== 'shop' || point !== 'refund.sent') await stage.dieAt(point, name)
  }, 900_000)
}
