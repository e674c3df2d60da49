/**
 * Alipay (OpenAPI 2.0) as a payment provider: `page` on a computer, `wap` on a phone, `qr` shows a code that the buyer scans with the app.
 *
 * Alipay makes a trade only when the buyer opens the page or scans the code; before that it knows nothing that could be queried or closed.
 * So the handle of a start says until when its page can be opened, and a trade that Alipay does not know is open until then. A cancel
 * closes a trade that exists for good. Of one that does not exist yet, `time_expire` (the order's pay_by, sent with every start) is what
 * ends it: a buyer who opens the page before that can still pay, and the flow refunds such money.
 *
 * Decimal amounts go out as exact text with two digits. Only CNY is taken. Alipay's refund is idempotent by `out_request_no`.
 */

import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { toDecimal } from '../../domain/money.ts'
import type {
  CallbackEvent,
  PaymentKey,
  PaymentProvider,
  PaymentRequest,
  ProviderReply,
  RefundRequest,
  StartedPayment,
} from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import { faultOf, unreachable } from './alipay-errors.ts'
import { AlipayGateway, isSignedBy } from './alipay-gateway.ts'
import { amountOf, eventOf, readNotice } from './alipay-notice.ts'
import { refundTrade } from './alipay-refund.ts'
import type { AlipayTrust } from './alipay-trust.ts'
import { fromBeijing, toBeijing } from './beijing-time.ts'
import { examineAlipay } from './examine-alipay.ts'

interface AlipayPorts {
  /** As in PAYMENT_PROVIDERS. */
  readonly name: string
  readonly appId: string
  readonly sellerId: string | undefined
  readonly gateway: string
  readonly privateKey: KeyObject
  readonly trust: AlipayTrust
  /** When the certificates end, for `examine`. */
  readonly certificatesEndMs: number | undefined
  /** Those the account has signed up for, the default first. */
  readonly methods: readonly string[]
  /** How the world reaches this server, without a trailing slash. */
  readonly publicUrl: () => string
  readonly clock: Clock
  readonly random: Random
}

const METHODS = {
  page: { call: 'alipay.trade.page.pay', product: 'FAST_INSTANT_TRADE_PAY' },
  wap: { call: 'alipay.trade.wap.pay', product: 'QUICK_WAP_WAY' },
  qr: { call: 'alipay.trade.precreate', product: undefined },
} as const

/** Alipay's own bound, 100 million yuan. */
const AMOUNT_MAX = 10_000_000_000
const SUBJECT_MAX = 128
/** After its time limit a page counts as still open for so long: our clock may be ahead of Alipay's. */
const CLOCK_MS_MAX = 600_000

export class Alipay implements PaymentProvider {
  readonly name: string
  readonly methods: PaymentProvider['methods']
  /** Any other text, also with white space around it, makes Alipay repeat the notice. */
  readonly acknowledgement = { contentType: 'text/plain', body: 'success' }
  readonly callbackBytesMax = 64 * 1024
  readonly cancelsLate = true
  readonly #ports: AlipayPorts
  readonly #gateway: AlipayGateway

  constructor(ports: AlipayPorts) {
    this.#ports = ports
    this.#gateway = new AlipayGateway(ports)
    this.name = ports.name
    this.methods = ports.methods.map(name => ({ name, qr: name === 'qr' }))
  }

  takes(currency: string): boolean {
    return currency === 'CNY'
  }

  async start(request: PaymentRequest, signal: AbortSignal): Promise<StartedPayment> {
    const { ref, amount, payByMs } = request
    const name = request.method ?? this.#ports.methods[0]!
    const method = name as keyof typeof METHODS
    if (!this.#ports.methods.includes(name) || !Object.hasOwn(METHODS, name))
      throw new Fault('payment_refused', `this Alipay account has no method ${name}`)
    if (!this.takes(amount.currency)) throw new Fault('payment_refused', `Alipay takes CNY, not ${amount.currency}`)
    if (amount.amount < 1 || amount.amount > AMOUNT_MAX)
      throw new Fault('payment_refused', `Alipay takes 0.01 to 100000000.00 yuan, not ${toDecimal(amount)}`)

    const { call, product } = METHODS[method]
    const back = this.#returnUrl(request.returnUrl)
    const content = {
      out_trade_no: ref,
      total_amount: toDecimal(amount),
      subject: subjectOf(request.description),
      time_expire: toBeijing(payByMs),
      ...(product !== undefined && { product_code: product }),
      // Where a buyer goes who leaves the page on the phone without having paid.
      ...(method === 'wap' && { quit_url: back ?? this.#ports.publicUrl() }),
    }
    const handle = `until.${Math.floor(payByMs / 1_000)}`
    const more = { notify_url: `${this.#ports.publicUrl()}/api/payments/${this.name}/callback` }
    if (method !== 'qr') {
      if (signal.aborted) throw unreachable(`${call}: the time for it is over`)
      const payUrl = this.#gateway.pageUrl(call, content, { ...more, ...(back !== undefined && { return_url: back }) })
      return { handle, payUrl }
    }
    const { body } = await this.#gateway.call(call, content, signal, { more })
    const code = body.qr_code
    if (typeof code !== 'string' || !/^https?:\/\/[\x21-\x7e]{1,1000}$/.test(code))
      throw new Fault('payment_refused', 'Alipay answered without a code to scan')
    return { handle, payUrl: code, qr: code }
  }

  async query({ ref, handle }: PaymentKey, signal: AbortSignal): Promise<ProviderReply> {
    const reply = await this.#gateway.call('alipay.trade.query', { out_trade_no: ref }, signal, {
      expects: ['no_trade'],
    })
    if (reply.meaning === 'no_trade') return this.#unopened(handle)
    const { body } = reply
    const amount = amountOf(body.total_amount, body.trans_currency)
    const paidMs = fromBeijing(body.send_pay_date)
    switch (body.trade_status) {
      case 'WAIT_BUYER_PAY':
        return { state: 'open' }
      case 'TRADE_SUCCESS':
      case 'TRADE_FINISHED':
        if (amount === undefined) break
        return { state: 'captured', amount, capturedAtMs: paidMs ?? this.#ports.clock.now() }
      case 'TRADE_CLOSED':
        // Closed without having been paid, or paid and refunded whole.
        if (paidMs === undefined || amount === undefined) return { state: 'void', why: 'expired' }
        return { state: 'refunded', amount, capturedAtMs: paidMs }
    }
    throw new Fault('payment_refused', `Alipay answered with a state of ${ref} that is not in its documents`)
  }

  async cancel(payment: PaymentKey, signal: AbortSignal): ReturnType<PaymentProvider['cancel']> {
    const { ref, handle } = payment
    const reply = await this.#gateway.call('alipay.trade.close', { out_trade_no: ref }, signal, {
      expects: ['no_trade', 'settled'],
    })
    if (reply.meaning === 'no_trade') return { state: 'void', untilMs: openUntilMs(handle) }
    if (reply.meaning !== 'settled') return { state: 'void' }
    const { state } = await this.query({ ref }, signal)
    // It says that the state forbids closing, and shows an open one: the two crossed. The next try sees what came of it.
    if (state === 'open') throw faultOf('alipay.trade.close', { code: '20000', subCode: reply.subCode })
    return { state: state === 'unknown' ? 'void' : state }
  }

  async refund(payment: PaymentKey, request: RefundRequest, signal: AbortSignal) {
    const { ref } = payment
    const { key, part } = request
    const trade = await this.query({ ref }, signal)
    if (trade.state === 'refunded' && part === undefined) return { state: 'refunded' as const }
    if (trade.state !== 'captured' && trade.state !== 'refunded') return { state: 'not_captured' as const }
    const isAllBack = async () => (await this.query({ ref }, signal)).state === 'refunded'
    // What Alipay captured, not what was asked for: all of a wrong amount goes back too.
    return refundTrade(this.#gateway, { ref, captured: trade.amount, key, part, isAllBack }, signal)
  }

  async verify(
    rawBody: Uint8Array,
    headers: { readonly get: (name: string) => string | null | undefined },
  ): Promise<CallbackEvent | undefined> {
    const notice = readNotice(rawBody, headers.get('content-type'), this.#ports)
    if (notice === undefined) return undefined
    const keys = await this.#gateway.keysFor(notice.serial)
    const { contents, signature } = notice
    const isGenuine = contents.some(content => keys.some(key => isSignedBy(key, content, signature)))
    return isGenuine ? eventOf(notice, this.#ports.clock.now()) : undefined
  }

  examine(signal: AbortSignal) {
    return examineAlipay(this.#gateway, this.#ports, signal)
  }

  #unopened(handle: string | undefined): ProviderReply {
    if (handle === undefined) return { state: 'unknown' }
    const isOver = this.#ports.clock.now() > (openUntilMs(handle) ?? Number.NaN)
    return isOver ? { state: 'void', why: 'expired' } : { state: 'open' }
  }

  #returnUrl(text: string | undefined): string | undefined {
    const checked = checkReturnUrl(text)
    return checked && new URL(checked, this.#ports.publicUrl()).href
  }
}

/** Until then a page that was not opened yet can be paid, by its time limit. Undefined: no page was given to a buyer. */
function openUntilMs(handle: string | undefined): number | undefined {
  const seconds = /^until\.(\d{1,12})$/.exec(handle ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000 + CLOCK_MS_MAX
}

/** Alipay refuses `/`, `=` and `&` in it. */
function subjectOf(description: string): string {
  const subject = description.replace(/[/=&\p{Cc}]/gu, ' ').trim()
  return [...subject].slice(0, SUBJECT_MAX).join('') || 'Order'
}
