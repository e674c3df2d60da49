import { until } from '../../../test/harness/until.ts'
import { listenForCallbacks } from '../contract/callback-listener.ts'
import { paymentContract } from '../payment.contract.ts'
import { openStripeShop } from './stripe-shop.fixture.ts'

let shops = 0
paymentContract(
  'stripe',
  async () => {
    const shop = await openStripeShop({ webhookSecrets: [`whsec_secretofshop${++shops}`] })
    const listener = await listenForCallbacks(shop.provider.acknowledgement)
    const { stripe } = shop
    stripe.callBackTo(listener.url)
    return {
      provider: shop.provider,
      now: shop.clock.now,
      approve: async payUrl => void (await stripe.approve(payUrl)),
      decline: stripe.decline,
      received: (ref, which = () => true) => {
        const isOf = (rawBody: Uint8Array) =>
          JSON.parse(Buffer.from(rawBody).toString()).data.object.metadata.stampede_ref === ref
        return until(`a callback about ${ref}`, () => listener.deliveries.find(one => isOf(one.rawBody) && which(one)))
      },
      givenBack: async ref => stripe.booksOf(ref).refunded,
      cutOff: async ref => stripe.cutOff(ref),
      reconnect: async ref => stripe.reconnect(ref),
      shiftClock: shop.shiftClock,
      close: async () => {
        await shop.close()
        await listener.close()
      },
    }
  },
  { decline: 'told', forgetsUnknownRefs: true, wholeSeconds: true },
)
