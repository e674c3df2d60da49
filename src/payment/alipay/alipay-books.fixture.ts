/**
 * What Alipay knows of payments in the tests, with the rules of its documents: a trade exists from the moment a buyer opens the page or scans
 * the code, is closed by a call or at its time_expire, takes refunds by out_request_no up to what was paid, and is closed when all of it went
 * back. Answers are the bodies that Alipay would sign.
 */

import { fromDecimal, toDecimal } from '../../domain/money.ts'
import { fromBeijing, toBeijing } from './beijing-time.ts'

export interface Offer {
  readonly ref: string
  readonly total: number
  readonly expiresMs: number
  readonly notifyUrl: string
  readonly returnUrl: string | undefined
}

export interface Trade extends Offer {
  readonly number: string
  status: 'WAIT_BUYER_PAY' | 'TRADE_SUCCESS' | 'TRADE_FINISHED' | 'TRADE_CLOSED'
  currency: string
  paidMs?: number
  refundedMs?: number
  readonly refunds: Map<string, number>
}

type Body = Readonly<Record<string, unknown>>
type Content = Readonly<Record<string, string>>

const yuan = (amount: number) => toDecimal({ amount, currency: 'CNY' })
const done = (body: Body): Body => ({ code: '10000', msg: 'Success', ...body })
const failed = (subCode: string): Body => ({
  code: '40004',
  msg: 'Business Failed',
  sub_code: subCode,
  sub_msg: '业务失败',
})

export class AlipayBooks {
  readonly trades = new Map<string, Trade>()
  readonly #offers = new Map<string, Offer>()
  readonly #now: () => number
  #numbers = 0
  /** Told of everything that Alipay sends notices about. */
  onChange: (trade: Trade) => void = () => {}

  constructor(now: () => number) {
    this.#now = now
  }

  /** A page was opened with these arguments, or a code scanned. Undefined: Alipay shows an error. */
  open(offer: Offer): Trade | undefined {
    const trade = this.#trade(offer.ref)
    if (trade !== undefined) return trade.total === offer.total && trade.status === 'WAIT_BUYER_PAY' ? trade : undefined
    if (offer.expiresMs <= this.#now()) return undefined
    this.#numbers += 1
    const number = `20261118220014${String(this.#numbers).padStart(14, '0')}`
    const opened: Trade = { ...offer, number, status: 'WAIT_BUYER_PAY', currency: 'CNY', refunds: new Map() }
    this.trades.set(offer.ref, opened)
    return opened
  }

  pay(ref: string): boolean {
    const trade = this.#trade(ref)
    if (trade?.status !== 'WAIT_BUYER_PAY') return false
    trade.status = 'TRADE_SUCCESS'
    trade.paidMs = this.#now()
    this.onChange(trade)
    return true
  }

  answer(method: string, content: Content, offer: Offer | undefined): Body {
    const ref = content.out_trade_no ?? ''
    const trade = this.#trade(ref)
    switch (method) {
      case 'alipay.trade.precreate':
        return this.#precreate(offer!, trade)
      case 'alipay.trade.query':
        return trade === undefined ? failed('ACQ.TRADE_NOT_EXIST') : done(queried(trade))
      case 'alipay.trade.close':
        if (trade === undefined) return failed('ACQ.TRADE_NOT_EXIST')
        if (trade.status !== 'WAIT_BUYER_PAY') return failed('ACQ.TRADE_STATUS_ERROR')
        trade.status = 'TRADE_CLOSED'
        this.onChange(trade)
        return done({ out_trade_no: ref, trade_no: trade.number })
      case 'alipay.trade.refund':
        return trade === undefined ? failed('ACQ.TRADE_NOT_EXIST') : this.#refund(trade, content)
      case 'alipay.trade.fastpay.refund.query': {
        if (trade === undefined) return failed('ACQ.TRADE_NOT_EXIST')
        const amount = trade.refunds.get(content.out_request_no ?? '')
        const found = {
          refund_amount: yuan(amount ?? 0),
          total_amount: yuan(trade.total),
          refund_status: 'REFUND_SUCCESS',
        }
        return done({ out_trade_no: ref, ...(amount !== undefined && found) })
      }
      default:
        return { code: '40006', msg: 'Insufficient Permissions', sub_code: 'isv.insufficient-isv-permissions' }
    }
  }

  books(): ReadonlyMap<string, { readonly captured: number; readonly refunded: number }> {
    return new Map(
      [...this.trades.values()].map(trade => [
        trade.ref,
        { captured: trade.paidMs === undefined ? 0 : trade.total, refunded: refundedOf(trade) },
      ]),
    )
  }

  /** Closed by its time limit, if that has passed. */
  #trade(ref: string): Trade | undefined {
    const trade = this.trades.get(ref)
    if (trade?.status === 'WAIT_BUYER_PAY' && trade.expiresMs <= this.#now()) {
      trade.status = 'TRADE_CLOSED'
      this.onChange(trade)
    }
    return trade
  }

  #precreate(offer: Offer, trade: Trade | undefined): Body {
    const before = trade ?? this.#offers.get(offer.ref)
    if (before !== undefined && before.total !== offer.total) return failed('ACQ.CONTEXT_INCONSISTENT')
    if (trade?.status === 'TRADE_CLOSED') return failed('ACQ.TRADE_HAS_CLOSE')
    if (trade !== undefined && trade.status !== 'WAIT_BUYER_PAY') return failed('ACQ.TRADE_HAS_SUCCESS')
    if (offer.expiresMs <= this.#now()) return failed('ACQ.INVALID_PARAMETER')
    this.#offers.set(offer.ref, offer)
    return done({ out_trade_no: offer.ref })
  }

  #refund(trade: Trade, content: Content): Body {
    const number = content.out_request_no ?? ''
    const amount = fromDecimal(content.refund_amount ?? '', 'CNY')
    const said = (change: 'Y' | 'N') =>
      done({
        out_trade_no: trade.ref,
        trade_no: trade.number,
        fund_change: change,
        refund_fee: yuan(refundedOf(trade)),
      })
    if (amount === undefined || amount < 1) return failed('ACQ.INVALID_PARAMETER')
    const before = trade.refunds.get(number)
    if (before !== undefined) return before === amount ? said('N') : failed('ACQ.DISCORDANT_REPEAT_REQUEST')
    if (trade.status === 'TRADE_FINISHED') return failed('ACQ.TRADE_HAS_FINISHED')
    if (trade.status !== 'TRADE_SUCCESS') return failed('ACQ.TRADE_STATUS_ERROR')
    if (refundedOf(trade) + amount > trade.total) return failed('ACQ.REASON_TRADE_REFUND_FEE_ERR')
    trade.refunds.set(number, amount)
    trade.refundedMs = this.#now()
    if (refundedOf(trade) === trade.total) trade.status = 'TRADE_CLOSED'
    this.onChange(trade)
    return said('Y')
  }
}

export function refundedOf({ refunds }: Trade): number {
  return [...refunds.values()].reduce((sum, amount) => sum + amount, 0)
}

function queried(trade: Trade): Body {
  return {
    out_trade_no: trade.ref,
    trade_no: trade.number,
    trade_status: trade.status,
    total_amount: yuan(trade.total),
    buyer_logon_id: '159****5620',
    ...(trade.currency !== 'CNY' && { trans_currency: trade.currency }),
    ...(trade.paidMs !== undefined && { send_pay_date: toBeijing(trade.paidMs) }),
  }
}

/** The fields of a notice about the trade as it is now, without its signature. */
export function noticeFields(trade: Trade): Record<string, string> {
  const { paidMs, refundedMs } = trade
  return {
    notify_type: 'trade_status_sync',
    charset: 'utf-8',
    version: '1.0',
    subject: '手机 & phone',
    out_trade_no: trade.ref,
    trade_no: trade.number,
    trade_status: trade.status,
    total_amount: yuan(trade.total),
    ...(trade.currency !== 'CNY' && { trans_currency: trade.currency }),
    ...(paidMs !== undefined && {
      gmt_payment: toBeijing(paidMs),
      fund_bill_list: JSON.stringify([{ amount: yuan(trade.total), fundChannel: 'ALIPAYACCOUNT' }]),
    }),
    ...(refundedMs !== undefined && {
      gmt_refund: `${toBeijing(refundedMs)}.320`,
      refund_fee: yuan(refundedOf(trade)),
    }),
  }
}

export function offerOf(content: Content, parameters: Content): Offer {
  return {
    ref: content.out_trade_no ?? '',
    total: fromDecimal(content.total_amount ?? '', 'CNY') ?? 0,
    expiresMs: fromBeijing(content.time_expire) ?? 0,
    notifyUrl: parameters.notify_url ?? '',
    returnUrl: parameters.return_url,
  }
}
