/**
 * WeChat Pay's error codes, in one table. Its documents spell some with and some without underscores.
 *
 *   retry     the same call may succeed later
 *   refused   the same call will be refused again, until a person changes something
 *   missing, paid, closed   what the order is: an answer, where the call can use it
 */

export type Meaning = 'retry' | 'refused' | 'missing' | 'paid' | 'closed'

const MEANINGS: ReadonlyMap<string, Meaning> = new Map(
  (
    [
      ['retry', 'SYSTEM_ERROR SYSTEMERROR BANK_ERROR BANKERROR BIZERR_NEED_RETRY USER_PAYING USERPAYING'],
      ['retry', 'FREQUENCY_LIMITED FREQUENCY_LIMIT FREQUENCY_LIMIT_EXCEED RATELIMIT_EXCEEDED RATELIMIT_EXCEED'],
      ['missing', 'ORDER_NOT_EXIST ORDERNOTEXIST RESOURCE_NOT_EXISTS REFUNDNOTEXIST'],
      ['paid', 'ORDER_PAID ORDERPAID'],
      ['closed', 'ORDER_CLOSED ORDERCLOSED'],
      ['refused', 'SIGN_ERROR PARAM_ERROR INVALID_REQUEST OUT_TRADE_NO_USED REQUEST_BLOCKED'],
      ['refused', 'MCH_NOT_EXISTS APPID_MCHID_NOT_MATCH NO_AUTH ACCOUNT_ERROR ACCOUNTERROR OPENID_MISMATCH'],
      ['refused', 'NOT_ENOUGH RULE_LIMIT RULELIMIT TRADE_ERROR USER_ACCOUNT_ABNORMAL INVALID_TRANSACTIONID'],
    ] as const
  ).flatMap(([meaning, codes]) => codes.split(' ').map(code => [code, meaning] as const)),
)

/** What to do about it, where the code alone does not tell. */
const REMEDIES: Readonly<Record<string, string>> = {
  SIGN_ERROR:
    'check WECHAT_PRIVATE_KEY, WECHAT_SERIAL_NO and WECHAT_MCH_ID, and that the clock of this machine is right',
  NOT_ENOUGH: "the merchant account's balance is too small: top it up, and the refund is sent again",
  NO_AUTH: 'open this way to pay in the merchant platform, or take it out of WECHAT_METHODS',
  APPID_MCHID_NOT_MATCH: 'bind WECHAT_APP_ID to WECHAT_MCH_ID in the merchant platform',
  MCH_NOT_EXISTS: 'check WECHAT_MCH_ID',
  OUT_TRADE_NO_USED: 'the order number was used before, with another amount or another way to pay',
}

/** An answer that has no code of WeChat Pay comes from something in between, and says nothing about the order. */
export function meaningOf(status: number, code: string | undefined): Meaning {
  if (code === undefined) return 'retry'
  return MEANINGS.get(code) ?? (status >= 500 || status === 429 ? 'retry' : 'refused')
}

export function remedyOf(code: string): string {
  return REMEDIES[code] ?? "see the code in WeChat Pay's documents"
}
