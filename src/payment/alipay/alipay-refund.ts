/**
 * Refunds of a paid trade. `out_request_no` is the idempotency key: the same number again gives nothing back a second time, and the parts of
 * a trade never add up to more than was paid. `fund_change` Y says that this very call moved money; everything else is settled by a query
 * of that refund, as Alipay's documents ask for. What a process that died has sent is found by the next try with the same key.
 */

import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { type Money, toDecimal } from '../../domain/money.ts'
import { faultOf } from './alipay-errors.ts'
import type { AlipayGateway } from './alipay-gateway.ts'
import { amountOf } from './alipay-notice.ts'

interface TradeRefund {
  readonly ref: string
  readonly captured: Money
  readonly key: string
  /** Undefined: all that is left. */
  readonly part: Money | undefined
  /** Has all of the trade gone back? Asked only when Alipay says that there is nothing to refund. */
  readonly isAllBack: () => Promise<boolean>
}

interface Sent {
  /** nothing_left: there is less left than that, or the trade is closed or too old. */
  readonly state: 'refunded' | 'pending' | 'nothing_left'
  /** All that was refunded of the trade so far, where Alipay told. */
  readonly total?: Money | undefined
}

type Outcome = { readonly state: 'refunded' | 'pending' }
type Gateway = Pick<AlipayGateway, 'call'>

const REFUND = 'alipay.trade.refund'
const NUMBER_MAX = 64

export async function refundTrade(gateway: Gateway, refund: TradeRefund, signal: AbortSignal): Promise<Outcome> {
  const { ref, captured, part, key } = refund
  if (part !== undefined && part.currency !== captured.currency)
    throw new Fault('payment_refused', `the payment is in ${captured.currency}, the refund in ${part.currency}`)
  const { state } = await send(gateway, ref, key, part ?? captured, signal)
  if (state !== 'nothing_left') return { state }
  if (part !== undefined)
    throw new Fault('payment_refused', `Alipay has less than ${toDecimal(part)} left to refund of ${ref}`)
  return (await refund.isAllBack()) ? { state: 'refunded' } : refundRest(gateway, refund, signal)
}

/**
 * Parts were refunded before. How much is left no query tells: only the answer to a refund does. So the smallest amount goes back first, and
 * then what is left after it; each has a number of its own, made from the key, so a repetition sends the same two again.
 */
async function refundRest(gateway: Gateway, refund: TradeRefund, signal: AbortSignal): Promise<Outcome> {
  const { ref, captured, key } = refund
  const sendFirst = () => send(gateway, ref, numberOf(key, 'first'), { ...captured, amount: 1 }, signal)
  const first = await sendFirst()
  if (first.state === 'pending') return { state: 'pending' }
  // Settled by a query of the refund, which does not tell the total: the answer to the same refund again does.
  const total = first.state === 'refunded' ? (first.total ?? (await sendFirst()).total) : undefined
  const left = total === undefined ? 0 : captured.amount - total.amount
  const rest =
    left > 0 ? await send(gateway, ref, numberOf(key, 'rest'), { ...captured, amount: left }, signal) : undefined
  if (rest !== undefined && rest.state !== 'nothing_left') return { state: rest.state }
  if (await refund.isAllBack()) return { state: 'refunded' }
  throw new Fault(
    'payment_refused',
    `Alipay does not refund the rest of ${ref}: it is too old, or was refunded otherwise`,
  )
}

async function send(gateway: Gateway, ref: string, number: string, amount: Money, signal: AbortSignal): Promise<Sent> {
  const content = { out_trade_no: ref, refund_amount: toDecimal(amount), out_request_no: number }
  const reply = await gateway.call(REFUND, content, signal, { expects: ['too_much', 'settled', 'retry'] })
  const total = reply.meaning === 'done' ? amountOf(reply.body.refund_fee, amount.currency) : undefined
  if (reply.meaning === 'done' && reply.body.fund_change === 'Y') return { state: 'refunded', total }
  if (await isRefunded(gateway, ref, number, signal)) return { state: 'refunded', total }
  if (reply.meaning === 'retry') throw faultOf(REFUND, reply)
  return { state: reply.meaning === 'done' ? 'pending' : 'nothing_left' }
}

async function isRefunded(gateway: Gateway, ref: string, number: string, signal: AbortSignal): Promise<boolean> {
  const content = { out_trade_no: ref, out_request_no: number }
  const { body, meaning } = await gateway.call('alipay.trade.fastpay.refund.query', content, signal, {
    expects: ['no_trade', 'settled'],
  })
  // An answer without a status says that no such refund was received, or that it failed.
  return meaning === 'done' && body.refund_status === 'REFUND_SUCCESS'
}

function numberOf(key: string, which: 'first' | 'rest'): string {
  const number = `${key}-${which}`
  return number.length <= NUMBER_MAX
    ? number
    : `${createHash('sha256').update(key).digest('hex').slice(0, 40)}-${which}`
}
