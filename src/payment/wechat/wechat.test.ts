/** WeChat Pay passes the suite of all providers, with platform certificates and with its public key. */

import { until } from '../../../test/harness/until.ts'
import { paymentContract } from '../payment.contract.ts'
import { tradeNoOf } from './trade-numbers.ts'
import { openWechatShop } from './wechat-shop.fixture.ts'

for (const signsWith of ['certificate', 'public key'] as const)
  paymentContract(
    `wechat (${signsWith})`,
    async () => {
      const { server, provider, listener, clock, shiftClock, close } = await openWechatShop(signsWith)
      const silent = new Set<string>()
      server.misbehave = (_, path, body) =>
        [...silent].some(no => path.includes(no) || body.includes(`"${no}"`)) ? 'hang' : undefined
      return {
        provider,
        now: clock.now,
        approve: async payUrl => void (await server.approve(payUrl)),
        decline: server.decline,
        received: (ref, which = () => true) =>
          until(`a callback about ${ref}`, () =>
            listener.deliveries.find(one => server.refOfNotice(one.rawBody) === ref && which(one)),
          ),
        givenBack: async ref => server.books().get(ref)?.refunded ?? 0,
        cutOff: async ref => void silent.add(tradeNoOf(ref)),
        reconnect: async ref => void silent.delete(tradeNoOf(ref)),
        shiftClock,
        close,
      }
    },
    {
      startAgain: 'another page',
      decline: 'silent',
      forgetsUnknownRefs: true,
      forgetsParts: true,
      wholeSeconds: true,
      payUrl: 'weixin://',
    },
  )
