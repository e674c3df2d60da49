/** Every text about who was turned away, in both languages. */

import type { RefusalReason } from '../shapes.ts'
import { words } from '../words.ts'

const reasons: Record<RefusalReason, string> = {
  rate_limited: 'Too many requests',
  denied: 'On the deny list',
  risk_denied: 'Denied by the shop’s risk check',
  ticket_invalid: 'No valid ticket',
  challenge_invalid: 'Challenge not solved',
  hold_limit: 'Too many unpaid holds',
  unauthenticated: 'Not signed in',
}

const en = {
  title: 'Turned away',
  note: 'Requests that limits, lists, the risk check, tickets and challenges refused in the last minutes, on all servers. What was sold out or too early is not counted here.',
  none: 'None was turned away',
  noneNote: 'In the last ten minutes no rule has refused a request.',
  since: (time: string) => `Since ${time}`,
  byReason: 'By reason',
  reason: 'Reason',
  count: 'Requests',
  reasons,
  networks: 'Networks',
  network: 'Network',
  claims: 'Claims of the token',
  claim: 'Claim',
  atLeast: (count: string) => `at least ${count}`,
  why: 'Why',
  denied: 'kept out',
  deny: 'Keep out',
  denyOf: (what: string) => `Keep out ${what}`,
  denyTitle: 'Keep it out for two hours?',
  denyWhat: (what: string) =>
    `${what} gets “denied” on every server within a second, for two hours. Other buyers may share it. An order that a buyer holds stays the buyer’s.`,
  done: (what: string) => `${what} is kept out for two hours.`,
  entryReason: 'from the counts of those turned away',
  risk: {
    off: undefined,
    asking: 'The risk check answers.',
    resting: 'The risk check does not answer: tickets are given as RISK_ON_FAILURE says.',
  } as Record<'off' | 'asking' | 'resting', string | undefined>,
}

type AbuseWords = typeof en

const zh: AbuseWords = {
  title: '已拒绝',
  note: '最近几分钟内，所有节点因限流、名单、风控、购买资格和校验而拒绝的请求。售罄或尚未开始的不计入。',
  none: '没有请求被拒绝',
  noneNote: '最近十分钟内没有规则拒绝过请求。',
  since: time => `自 ${time}`,
  byReason: '按原因',
  reason: '原因',
  count: '请求数',
  reasons: {
    rate_limited: '请求过多',
    denied: '在拦截名单中',
    risk_denied: '商店风控拒绝',
    ticket_invalid: '购买资格无效',
    challenge_invalid: '校验未通过',
    hold_limit: '未付款占用过多',
    unauthenticated: '未登录',
  },
  networks: '网段',
  network: '网段',
  claims: '令牌声明',
  claim: '声明',
  atLeast: count => `至少 ${count}`,
  why: '原因',
  denied: '已拦截',
  deny: '拦截',
  denyOf: what => `拦截 ${what}`,
  denyTitle: '拦截两小时？',
  denyWhat: what => `${what} 一秒内在所有节点被拒绝，持续两小时。其他买家可能共用它。买家已有的订单不受影响。`,
  done: what => `${what} 已被拦截两小时。`,
  entryReason: '来自拒绝统计',
  risk: {
    off: undefined,
    asking: '风控正常应答。',
    resting: '风控没有应答：按 RISK_ON_FAILURE 发放购买资格。',
  },
}

export function abuseWords(): AbuseWords {
  return words().locale === 'en' ? en : zh
}
