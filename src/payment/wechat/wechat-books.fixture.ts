/**
 * For tests: WeChat Pay's orders and refunds, with the rules its documents state. Answers as the API does: a status, and a body or an error
 * code. Knows neither HTTP nor signatures.
 */

import { Formatter } from 'wechatpay-axios-plugin'

const MINUTE_MS = 60_000

interface PrepayBody {
  readonly appid: string
  readonly mchid: string
  readonly description: string
  readonly out_trade_no: string
  readonly time_expire: string
  readonly attach?: string
  readonly notify_url: string
  readonly amount: { readonly total: number; readonly currency: string }
  readonly payer?: { readonly openid?: string }
  readonly scene_info?: { readonly payer_client_ip?: string; readonly h5_info?: { readonly type?: string } }
}

export interface ServerTrade extends PrepayBody {
  readonly method: string
  readonly endsAtMs: number
  state: 'NOTPAY' | 'SUCCESS' | 'REFUND' | 'CLOSED' | 'USERPAYING' | 'PAYERROR'
  paidAtMs: number
  /** What is really captured. */
  total: number
  readonly codes: string[]
}

export interface ServerRefund {
  readonly trade: ServerTrade
  readonly no: string
  readonly amount: number
  readonly notifyUrl: string | undefined
  status: 'SUCCESS' | 'CLOSED' | 'PROCESSING' | 'ABNORMAL'
}

type RefundBody = {
  readonly out_trade_no: string
  readonly out_refund_no: string
  readonly notify_url?: string
  readonly amount: { readonly refund: number; readonly total: number; readonly currency: string }
}

export interface Answer {
  readonly status: number
  readonly body?: object
}

const error = (status: number, code: string, message: string): Answer => ({ status, body: { code, message } })

export class WechatBooks {
  readonly trades = new Map<string, ServerTrade>()
  readonly refunds = new Map<string, ServerRefund>()
  /** What a refund's status is at first. */
  refundStatus: ServerRefund['status'] = 'SUCCESS'
  readonly #mchId: string
  readonly #appId: string
  readonly #now: () => number

  constructor(mchId: string, appId: string, now: () => number) {
    this.#mchId = mchId
    this.#appId = appId
    this.#now = now
  }

  prepay(method: string, body: PrepayBody, base: string): Answer {
    const problem = this.#prepayProblem(method, body)
    if (problem !== undefined) return error(400, 'PARAM_ERROR', problem)
    if (body.mchid !== this.#mchId) return error(400, 'MCH_NOT_EXISTS', '商户号不存在')
    if (body.appid !== this.#appId) return error(400, 'APPID_MCHID_NOT_MATCH', 'appid和mch_id不匹配')
    const found = this.trades.get(body.out_trade_no)
    if (found?.state === 'CLOSED') return error(400, 'ORDER_CLOSED', '订单已关闭')
    if (found !== undefined && found.state !== 'NOTPAY') return error(400, 'ORDERPAID', '该订单已支付')
    const isOther = found && (found.method !== method || found.amount.total !== body.amount.total)
    if (isOther || (found && found.time_expire !== body.time_expire))
      return error(403, 'OUT_TRADE_NO_USED', '商户订单号重复')
    const endsAtMs = Math.max(Date.parse(body.time_expire), this.#now() + MINUTE_MS)
    const trade = found ?? {
      ...body,
      method,
      endsAtMs,
      state: 'NOTPAY',
      paidAtMs: 0,
      total: body.amount.total,
      codes: [],
    }
    this.trades.set(body.out_trade_no, trade)
    const code = Formatter.nonce(16)
    trade.codes.push(code)
    if (method === 'native') return { status: 200, body: { code_url: `weixin://wxpay/bizpayurl?pr=${code}` } }
    if (method === 'h5') return { status: 200, body: { h5_url: `${base}/h5?prepay_id=${code}&package=1` } }
    return { status: 200, body: { prepay_id: code } }
  }

  #prepayProblem(method: string, body: PrepayBody): string | undefined {
    if (!/^[0-9A-Za-z_\-|*]{6,32}$/.test(body.out_trade_no)) return 'out_trade_no'
    if (body.description.length === 0 || body.description.length > 127) return 'description'
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/.test(body.time_expire)) return 'time_expire'
    if (URL.parse(body.notify_url)?.search !== '' || body.notify_url.length > 255) return 'notify_url'
    if (!Number.isInteger(body.amount.total) || body.amount.total < 1 || body.amount.currency !== 'CNY') return 'amount'
    if (method === 'jsapi' && !body.payer?.openid) return 'payer'
    const { payer_client_ip, h5_info } = body.scene_info ?? {}
    return method === 'h5' && (!payer_client_ip || !h5_info?.type) ? 'scene_info' : undefined
  }

  query(no: string): Answer {
    const trade = this.trades.get(no)
    return trade ? { status: 200, body: this.describe(trade) } : error(404, 'ORDER_NOT_EXIST', '订单不存在')
  }

  /** As a query answers it, and as a callback carries it. */
  describe(trade: ServerTrade): object {
    const isPaid = trade.state === 'SUCCESS' || trade.state === 'REFUND'
    const { appid, mchid, out_trade_no, attach, total } = trade
    if (!isPaid)
      return { appid, mchid, out_trade_no, attach: '', payer: {}, trade_state: trade.state, trade_state_desc: '' }
    return {
      ...{ appid, mchid, out_trade_no, attach, trade_state: trade.state, trade_state_desc: '支付成功' },
      amount: { currency: 'CNY', payer_currency: 'CNY', payer_total: total, total },
      payer: { openid: trade.payer?.openid ?? 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o' },
      success_time: beijing(trade.paidAtMs),
      trade_type: trade.method.toUpperCase(),
      transaction_id: `4200${trade.codes[0]}`,
      bank_type: 'OTHERS',
    }
  }

  close(no: string): Answer {
    const trade = this.trades.get(no)
    if (trade?.state === 'USERPAYING') return error(202, 'USER_PAYING', '用户支付中')
    if (trade?.state === 'SUCCESS' || trade?.state === 'REFUND') return error(400, 'ORDERPAID', '订单已支付')
    if (trade !== undefined) trade.state = 'CLOSED'
    return { status: 204 }
  }

  refund(body: RefundBody): Answer & { readonly made?: ServerRefund } {
    const trade = this.trades.get(body.out_trade_no)
    if (trade === undefined) return error(404, 'RESOURCE_NOT_EXISTS', '订单不存在')
    if (trade.state !== 'SUCCESS' && trade.state !== 'REFUND') return error(400, 'INVALID_REQUEST', '订单未支付')
    if (!/^[0-9A-Za-z_\-|*@]{1,64}$/.test(body.out_refund_no)) return error(400, 'PARAM_ERROR', 'out_refund_no')
    const found = this.refunds.get(body.out_refund_no)
    const { refund: amount, total } = body.amount
    if (total !== trade.total || (found && (found.trade !== trade || found.amount !== amount)))
      return error(400, 'INVALID_REQUEST', '订单金额或退款金额与之前请求不一致')
    if (found && found.status !== 'CLOSED') return this.queryRefund(found.no)
    const left = trade.total - this.refunded(trade, ['SUCCESS', 'PROCESSING', 'ABNORMAL'])
    if (amount > left)
      return error(400, 'INVALID_REQUEST', left === 0 ? '订单已全额退款' : '申请退款金额大于订单剩余可退金额')
    const made = { trade, no: body.out_refund_no, amount, notifyUrl: body.notify_url, status: this.refundStatus }
    this.refunds.set(made.no, made)
    trade.state = 'REFUND'
    return { ...this.queryRefund(made.no), made }
  }

  queryRefund(no: string): Answer {
    const refund = this.refunds.get(no)
    if (refund === undefined) return error(404, 'RESOURCE_NOT_EXISTS', '退款单不存在')
    const { trade, status, amount } = refund
    return {
      status: 200,
      body: {
        ...{
          refund_id: `5030${no.length}`,
          out_refund_no: no,
          out_trade_no: trade.out_trade_no,
          status,
          channel: 'ORIGINAL',
        },
        amount: { total: trade.total, refund: amount, payer_total: trade.total, payer_refund: amount, currency: 'CNY' },
      },
    }
  }

  refunded(trade: ServerTrade, statuses: readonly ServerRefund['status'][] = ['SUCCESS']): number {
    const ofTrade = [...this.refunds.values()].filter(one => one.trade === trade && statuses.includes(one.status))
    return ofTrade.reduce((sum, { amount }) => sum + amount, 0)
  }

  /** The order of a code, a page or a prepay id. */
  tradeOf(payUrl: string): ServerTrade {
    const found = [...this.trades.values()].find(({ codes }) => codes.some(code => payUrl.includes(code)))
    if (found === undefined) throw new Error(`WeChat Pay has no order for ${payUrl}`)
    return found
  }
}

export function beijing(unixMs: number): string {
  return `${new Date(unixMs + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`
}
