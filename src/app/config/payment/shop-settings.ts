/** The settings of the shop's own till. */

import { payUrlProblem } from '../../../payment/pay-url.ts'
import { checkedBy, hideInAddress, list } from '../setting.ts'
import { paymentKind } from './payment-kind.ts'

const SECRET_LENGTH_MIN = 32
const SECRETS_MAX = 4

const payUrl = checkedBy(text => {
  const problem = payUrlProblem(text)
  if (problem !== undefined) throw new Error(problem)
})

export const shopKind = paymentKind({
  single: true,
  settings: {
    PAYMENT_SECRET: {
      about:
        "Signs the shop's reports of captures and refunds, and the addresses of its pay pages: at least 32 characters. While it is replaced, " +
        'the new one and the old one, with a comma between them.',
      schema: list
        .refine(secrets => secrets.length <= SECRETS_MAX, `must be at most ${SECRETS_MAX} secrets`)
        .refine(
          secrets => secrets.every(one => one.length >= SECRET_LENGTH_MIN),
          `must have at least ${SECRET_LENGTH_MIN} characters, without a comma`,
        ),
      key: true,
      required: true,
    },
    PAY_URL: {
      about:
        'Where the page sends a buyer to pay: an http(s) address with {order}, and where wanted {ref} {amount} {currency} {payBy} {return} ' +
        "{signature}. Unset: only the shop's own app takes payments, and the page offers none.",
      schema: payUrl,
      show: value => hideInAddress(value),
    },
  },
})
