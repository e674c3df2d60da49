/**
 * WeChat Pay, API v3, for merchants in mainland China (CNY): `native` (a code to scan), `h5` (a page on a phone) and `jsapi` (inside WeChat).
 *
 * The order number is made from our ref (`trade-numbers.ts`), so that a start, a refund or a cancel that is sent again never counts twice.
 * A start that is sent again gets another code of the same order; once it is paid or closed it is refused. WeChat Pay tells of captures and
 * refunds by callbacks, and not of a buyer's failed try: the order stays open. An order number that WeChat Pay has never seen can't be kept
 * void: the close of it succeeds, and a later start opens it.
 *
 * After `pay_by` the buyer can't pay (WeChat Pay makes it at least a minute), but the order stays open there until it is closed.
 * The buyer's openid is sent, and neither kept nor logged.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type {
  PaymentKey,
  PaymentProvider,
  PaymentRequest,
  ProviderReply,
  RefundRequest,
  StartedPayment,
} from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import { examineAccount } from './examine-account.ts'
import { isRef, refundNoOf, tradeNoOf } from './trade-numbers.ts'
import { verifyCallback } from './wechat-callback.ts'
import { unreachable, type WechatAccount, WechatClient, type WechatPorts } from './wechat-client.ts'
import { CURRENCY, captureOf, type Refund, readRefund, readTrade, type Trade, unpaidState } from './wechat-trade.ts'

const DESCRIPTION_BYTES_MAX = 127
const BEIJING_MS = 8 * 3_600_000
/** How WeChat Pay says that nothing is left to refund: by the sentence alone, under a code that has other meanings too. */
const ALL_REFUNDED = '全额退款'

export type WechatMethod = 'native' | 'h5' | 'jsapi'

interface WechatOptions extends WechatPorts {
  readonly account: WechatAccount
  readonly methods: readonly WechatMethod[]
  /** Where WeChat Pay calls back: https, without a query. */
  readonly callbackUrl: () => string
  /** Without a trailing slash. */
  readonly publicUrl: () => string
  readonly log: Log
}

export class Wechat implements PaymentProvider {
  readonly name: string
  readonly methods: PaymentProvider['methods']
  readonly acknowledgement = { contentType: 'application/json', body: '{"code":"SUCCESS"}' }
  readonly callbackBytesMax = 64 * 1024
  readonly #options: WechatOptions
  readonly #client: WechatClient

  constructor(options: WechatOptions) {
    this.#options = options
    this.name = options.account.name
    this.methods = options.methods.map(name => ({ name, qr: name === 'native' }))
    this.#client = new WechatClient(options.account, options)
  }

  takes(currency: string): boolean {
    return currency === CURRENCY
  }

  async start(request: PaymentRequest, signal: AbortSignal): Promise<StartedPayment> {
    const { ref, amount, method = this.methods[0]!.name } = request
    assert(isRef(ref), 'a payment was started with an invalid ref')
    if (!this.takes(amount.currency)) throw refused(`WeChat Pay takes ${CURRENCY}, not ${amount.currency}`)
    const { mchId, appId } = this.#options.account
    const order = {
      appid: appId,
      mchid: mchId,
      description: shortened(request.description),
      out_trade_no: tradeNoOf(ref),
      time_expire: beijingTime(request.payByMs),
      attach: ref,
      notify_url: this.#options.callbackUrl(),
      amount: { total: amount.amount, currency: amount.currency },
      ...this.#detailsOf(method, request),
    }
    const reply = await this.#client.call('POST', `/v3/pay/transactions/${method}`, order, signal)
    if (!reply.ok) throw reply.fault
    return this.#startedOf(method, request, reply.body as Readonly<Record<string, unknown>>)
  }

  async query({ ref }: PaymentKey, signal: AbortSignal): Promise<ProviderReply> {
    const trade = await this.#trade(ref, signal)
    if (trade === undefined) return { state: 'unknown' }
    const unpaid = unpaidState(trade)
    if (unpaid !== undefined) return unpaid
    const capture = captureOf(trade)
    if (capture === undefined) throw strange('a paid order')
    // REFUND says that something was refunded, perhaps a part: only the refund of all that is left tells.
    const whole = trade.trade_state === 'REFUND' && (await this.#refund(refundNoOf(ref, undefined), signal))
    return { state: whole && whole.status === 'SUCCESS' ? 'refunded' : 'captured', ...capture }
  }

  async cancel(payment: PaymentKey, signal: AbortSignal): ReturnType<PaymentProvider['cancel']> {
    const path = `/v3/pay/transactions/out-trade-no/${tradeNoOf(payment.ref)}/close`
    const reply = await this.#client.call('POST', path, { mchid: this.#options.account.mchId }, signal)
    if (reply.ok || reply.meaning === 'closed' || reply.meaning === 'missing') return { state: 'void' }
    const { state } = await this.query(payment, signal)
    if (state === 'open') throw reply.fault
    return { state: state === 'unknown' ? 'void' : state }
  }

  async refund(
    { ref }: PaymentKey,
    request: RefundRequest,
    signal: AbortSignal,
  ): ReturnType<PaymentProvider['refund']> {
    const { part } = request
    assert(part === undefined || this.takes(part.currency), 'a part was refunded in another currency')
    const trade = await this.#trade(ref, signal)
    const capture = trade && captureOf(trade)
    if (capture === undefined) return { state: 'not_captured' }
    const refundNo = refundNoOf(ref, part && request.key)
    const before = trade?.trade_state === 'REFUND' ? await this.#refund(refundNo, signal) : undefined
    // A closed refund was not carried out: the same number is sent again.
    if (before !== undefined && before.status !== 'CLOSED') return refundStateOf(before)
    const { amount: total, currency } = capture.amount
    const reply = await this.#client.call(
      'POST',
      '/v3/refund/domestic/refunds',
      {
        out_trade_no: tradeNoOf(ref),
        out_refund_no: refundNo,
        notify_url: this.#options.callbackUrl(),
        amount: { refund: part?.amount ?? total, total, currency },
      },
      signal,
    )
    if (reply.ok) return refundStateOf(this.#readRefund(reply.body, refundNo))
    if (part === undefined && reply.message.includes(ALL_REFUNDED)) return { state: 'refunded' }
    // The order was found a moment ago: WeChat Pay's refunds have not heard of it yet.
    if (reply.meaning === 'missing') throw unreachable('WeChat Pay does not know the order for a refund yet')
    throw reply.fault
  }

  verify(...[rawBody, headers]: Parameters<PaymentProvider['verify']>): ReturnType<PaymentProvider['verify']> {
    return verifyCallback({ ...this.#options, client: this.#client }, rawBody, headers)
  }

  examine(signal: AbortSignal): ReturnType<NonNullable<PaymentProvider['examine']>> {
    return examineAccount({ ...this.#options, client: this.#client }, signal)
  }

  #detailsOf(method: string, { address, payer }: PaymentRequest): object {
    switch (method) {
      case 'native':
        return {}
      case 'h5':
        if (address === undefined) throw refused("h5 needs the address of the buyer's browser")
        return { scene_info: { payer_client_ip: address, h5_info: { type: 'Wap' } } }
      case 'jsapi':
        if (payer === undefined || !/^[A-Za-z0-9_-]{1,128}$/.test(payer))
          throw refused("jsapi needs the buyer's openid, as letters, digits, - and _")
        return { payer: { openid: payer } }
      default:
        throw refused(`WeChat Pay has no method ${method}`)
    }
  }

  #startedOf(method: string, { returnUrl }: PaymentRequest, body: Readonly<Record<string, unknown>>): StartedPayment {
    const field = { native: 'code_url', h5: 'h5_url', jsapi: 'prepay_id' }[method as WechatMethod]
    const value = body?.[field]
    if (typeof value !== 'string' || value === '') throw strange('a new order')
    if (method === 'native') return { payUrl: value, qr: value }
    // The buyer stays on the page that calls the script.
    if (method === 'jsapi') return { payUrl: '', client: this.#client.scriptParameters(value) }
    const back = checkReturnUrl(returnUrl)
    if (back === undefined) return { payUrl: value }
    const page = back.startsWith('/') ? `${this.#options.publicUrl()}${back}` : back
    return { payUrl: `${value}&redirect_url=${encodeURIComponent(page)}` }
  }

  async #trade(ref: string, signal: AbortSignal): Promise<Trade | undefined> {
    const { account } = this.#options
    const tradeNo = tradeNoOf(ref)
    const path = `/v3/pay/transactions/out-trade-no/${tradeNo}?mchid=${account.mchId}`
    const reply = await this.#client.call('GET', path, undefined, signal)
    if (!reply.ok) {
      if (reply.meaning === 'missing') return undefined
      throw reply.fault
    }
    const trade = readTrade(reply.body, account)
    if (trade?.out_trade_no !== tradeNo) throw strange('an order')
    return trade
  }

  async #refund(refundNo: string, signal: AbortSignal): Promise<Refund | undefined> {
    const reply = await this.#client.call('GET', `/v3/refund/domestic/refunds/${refundNo}`, undefined, signal)
    if (reply.ok) return this.#readRefund(reply.body, refundNo)
    if (reply.meaning === 'missing') return undefined
    throw reply.fault
  }

  #readRefund(body: unknown, refundNo: string): Refund {
    const refund = readRefund(body, this.#options.account)
    if (refund?.refundNo !== refundNo) throw strange('a refund')
    return refund
  }
}

function refundStateOf({ status }: Refund): { readonly state: 'refunded' | 'pending' } {
  switch (status) {
    case 'SUCCESS':
      return { state: 'refunded' }
    case 'PROCESSING':
      return { state: 'pending' }
    case 'ABNORMAL':
      throw refused("the buyer's bank did not take the refund: send it to another account in the merchant platform")
    case 'CLOSED':
      throw refused('the refund was closed: see why in the merchant platform; it is sent again')
  }
}

function refused(why: string): Fault {
  return new Fault('payment_refused', why)
}

/** A signed answer that the documents do not describe: nothing is known of the order. */
function strange(what: string): Fault {
  return unreachable(`WeChat Pay described ${what} in a way that its documents do not`)
}

/** As many bytes as the documents allow characters: whichever they mean, it fits. */
function shortened(text: string): string {
  let bytes = 0
  let short = ''
  for (const letter of text.trim() || 'Order') {
    bytes += Buffer.byteLength(letter)
    if (bytes > DESCRIPTION_BYTES_MAX) break
    short += letter
  }
  return short
}

/** The same `pay_by` gives the same text: WeChat Pay refuses to change it when a start is sent again. */
function beijingTime(unixMs: number): string {
  return `${new Date(Math.floor(unixMs) + BEIJING_MS).toISOString().slice(0, 19)}+08:00`
}
