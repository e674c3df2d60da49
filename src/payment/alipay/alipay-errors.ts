/**
 * What an answer of Alipay's means for the caller, in one table. Alipay answers a `code` for every call (10000: done) and a `sub_code` for
 * what went wrong. A sub_code that is not in the table is refused: repeating such a call unchanged does not help.
 */

import { Fault } from '../../base/fault.ts'

/**
 * done      as asked
 * no_trade  Alipay knows no such payment: it was never started, or no buyer has opened its page or scanned its code
 * settled   the payment's state does not allow it: it is paid, closed or past refunding. A query tells which
 * too_much  more was to be refunded than is left
 * retry     Alipay can't say now, or did not finish: it may have taken effect all the same
 * refused   wrong keys, settings, rights or arguments
 */
type AnswerMeaning = 'done' | 'no_trade' | 'settled' | 'too_much' | 'retry' | 'refused'

export interface AlipayAnswer {
  readonly code: string
  readonly subCode: string
}

const CODES: Readonly<Record<string, AnswerMeaning>> = {
  '10000': 'done',
  // The service is not available.
  '20000': 'retry',
  // Too many calls.
  '40005': 'retry',
}

const SUB_CODES: Readonly<Record<string, AnswerMeaning>> = {
  'ACQ.TRADE_NOT_EXIST': 'no_trade',
  'ACQ.TRADE_STATUS_ERROR': 'settled',
  'ACQ.REASON_TRADE_STATUS_INVALID': 'settled',
  'ACQ.REASON_ILLEGAL_STATUS': 'settled',
  'ACQ.TRADE_HAS_SUCCESS': 'settled',
  'ACQ.TRADE_HAS_CLOSE': 'settled',
  'ACQ.TRADE_HAS_FINISHED': 'settled',
  'ACQ.REASON_TRADE_REFUND_FEE_ERR': 'too_much',
  'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL': 'too_much',
  'ACQ.SYSTEM_ERROR': 'retry',
  // So spelt in Alipay's documents of alipay.trade.cancel and of others.
  'AQC.SYSTEM_ERROR': 'retry',
  // An operator tops the account up; the refund is tried until then.
  'ACQ.SELLER_BALANCE_NOT_ENOUGH': 'retry',
  'ACQ.CONCURRENT_OPERATION': 'retry',
  'isp.unknow-error': 'retry',
  'aop.unknow-error': 'retry',
  'isv.app-call-limited': 'retry',
  'isv.qps-limited': 'retry',
}

export function meaningOf({ code, subCode }: AlipayAnswer): AnswerMeaning {
  return CODES[code] ?? SUB_CODES[subCode] ?? 'refused'
}

/** What stops a caller that has no better use for the answer. */
export function faultOf(call: string, answer: AlipayAnswer): Fault {
  const said = `${call}: Alipay answered ${answer.code} ${answer.subCode}`.trimEnd()
  const retryable = meaningOf(answer) === 'retry'
  return retryable ? unreachable(said) : new Fault('payment_refused', said)
}

/** No answer, or none that can be believed: the call may have taken effect. */
export function unreachable(message: string): Fault {
  return new Fault('payment_unreachable', message, { retryable: true, outcomeUnknown: true })
}
