/**
 * Orders and refunds in the words of WeChat Pay, read into those of the contract. What does not have the documented shape is undefined; the
 * caller decides whether that is a Fault or a forged callback. Amounts are in fen.
 */

import { z } from 'zod'
import { AMOUNT_MAX, type Money } from '../../domain/money.ts'
import type { ProviderReply } from '../payment.ts'
import type { WechatAccount } from './wechat-client.ts'

/** The only currency of the API for merchants in mainland China. */
export const CURRENCY = 'CNY'

const fen = z.int().min(0).max(AMOUNT_MAX)
const timeMs = z.iso.datetime({ offset: true }).transform(text => Date.parse(text))

const tradeSchema = z.object({
  mchid: z.string(),
  /** Unpaid orders may have none. */
  appid: z.string().optional(),
  out_trade_no: z.string(),
  trade_state: z.enum(['SUCCESS', 'REFUND', 'NOTPAY', 'CLOSED', 'REVOKED', 'USERPAYING', 'PAYERROR']),
  attach: z.string().optional(),
  success_time: z.union([timeMs, z.literal('').transform(() => undefined)]).optional(),
  amount: z
    .object({
      total: fen,
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/)
        .default(CURRENCY),
    })
    .optional(),
})

export type Trade = z.infer<typeof tradeSchema>

/** In an answer: `status`. In a callback: `refund_status`, and the merchant's number. */
const refundSchema = z.object({
  out_trade_no: z.string(),
  out_refund_no: z.string(),
  mchid: z.string().optional(),
  status: z.enum(['SUCCESS', 'CLOSED', 'PROCESSING', 'ABNORMAL']).optional(),
  refund_status: z.enum(['SUCCESS', 'CLOSED', 'PROCESSING', 'ABNORMAL']).optional(),
  amount: z.object({ total: fen, refund: fen }),
})

type RefundStatus = 'SUCCESS' | 'CLOSED' | 'PROCESSING' | 'ABNORMAL'

export interface Refund {
  readonly tradeNo: string
  readonly refundNo: string
  readonly status: RefundStatus
  readonly total: number
  readonly refund: number
}

type Owner = Pick<WechatAccount, 'mchId' | 'appId'>

/** Undefined also where it is an order of another merchant or app. */
export function readTrade(body: unknown, { mchId, appId }: Owner): Trade | undefined {
  const trade = tradeSchema.safeParse(body).data
  return trade?.mchid === mchId && (trade.appid === undefined || trade.appid === appId) ? trade : undefined
}

export function readRefund(body: unknown, { mchId }: Owner): Refund | undefined {
  const refund = refundSchema.safeParse(body).data
  const status = refund?.status ?? refund?.refund_status
  if (refund === undefined || status === undefined || (refund.mchid ?? mchId) !== mchId) return undefined
  const { out_trade_no: tradeNo, out_refund_no: refundNo, amount } = refund
  return { tradeNo, refundNo, status, total: amount.total, refund: amount.refund }
}

interface Capture {
  readonly amount: Money
  readonly capturedAtMs: number
}

/** What was captured, also if it was refunded since; undefined: the order is not paid. */
export function captureOf({ trade_state, amount, success_time }: Trade): Capture | undefined {
  if ((trade_state !== 'SUCCESS' && trade_state !== 'REFUND') || !amount || success_time === undefined) return undefined
  return { amount: { amount: amount.total, currency: amount.currency }, capturedAtMs: success_time }
}

/** Of an order that is not paid. */
export function unpaidState({ trade_state }: Trade): ProviderReply | undefined {
  switch (trade_state) {
    case 'NOTPAY':
    case 'USERPAYING':
      return { state: 'open' }
    case 'PAYERROR':
      return { state: 'open', declined: true }
    case 'CLOSED':
    case 'REVOKED':
      return { state: 'void' }
    default:
      return undefined
  }
}
