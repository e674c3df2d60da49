/** Every text about alerts, in both languages. */

import { words } from '../words.ts'

const en = {
  title: 'Alerts',
  note: 'Where people are told when a trouble begins and when it is over. The addresses are settings of the server and are not shown.',
  none: 'Nobody is told of troubles',
  noneNote:
    'Set ALERT_WEBHOOK_URL, ALERT_SLACK_URL or ALERT_EMAIL_TO and restart; docs/operating.md says how. Until then this page is the only place that shows them.',
  channel: 'Channel',
  channels: { webhook: 'Webhook', slack: 'Slack', email: 'E-mail' },
  state: 'State',
  toldAt: 'Last told',
  never: 'never',
  waiting: 'Waiting',
  works: 'works',
  failing: (time: string) => `failing since ${time}`,
  test: 'Send a test',
  testing: 'Sending …',
  arrived: (channel: string, seconds: string) => `${channel}: arrived after ${seconds} s`,
  lost: (channel: string, why: string) => `${channel}: did not arrive. ${why}`,
}

type AlertWords = typeof en

const zh: AlertWords = {
  title: '告警',
  note: '故障开始和结束时通知谁。地址是服务器的设置，此处不显示。',
  none: '没有人会收到故障通知',
  noneNote:
    '请设置 ALERT_WEBHOOK_URL、ALERT_SLACK_URL 或 ALERT_EMAIL_TO 并重启，方法见 docs/operating.md。在此之前，只有本页显示故障。',
  channel: '渠道',
  channels: { webhook: 'Webhook', slack: 'Slack', email: '电子邮件' },
  state: '状态',
  toldAt: '最近通知',
  never: '从未',
  waiting: '待发送',
  works: '正常',
  failing: time => `自 ${time} 起失败`,
  test: '发送测试',
  testing: '正在发送……',
  arrived: (channel, seconds) => `${channel}：${seconds} 秒后送达`,
  lost: (channel, why) => `${channel}：未送达。${why}`,
}

export function alertWords(): AlertWords {
  return words().locale === 'en' ? en : zh
}
