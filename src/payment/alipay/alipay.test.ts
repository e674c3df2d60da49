/** The payment suite on Alipay, in both modes, with codes to scan: a start is then a call. Pages are in `alipay-pages.test.ts`. */

import { paymentContract } from '../payment.contract.ts'
import { openAlipayShop } from './alipay-shop.fixture.ts'

for (const mode of ['key', 'certificate'] as const) {
  const accounts = ['A', 'B'] as const
  let made = 0
  const make = async () => {
    const { server, provider, received, shiftClock, close } = await openAlipayShop(mode, { account: accounts[made++]! })
    return {
      provider,
      now: server.now,
      approve: async (payUrl: string) => void (await server.approve(payUrl)),
      decline: server.decline,
      visit: async (payUrl: string) => void server.visit(payUrl),
      received,
      givenBack: async (ref: string) => server.givenBack(ref),
      cutOff: async (ref: string) => server.cutOff(ref),
      reconnect: async (ref: string) => server.reconnect(ref),
      shiftClock,
      close,
    }
  }
  paymentContract(`alipay, ${mode} mode`, make, {
    startAgain: 'another page',
    // The bank's "no" is shown to the buyer alone.
    decline: 'silent',
    forgetsUnknownRefs: true,
    unknownUntilOpened: true,
    signature: 'body',
    wholeSeconds: true,
  })
}
