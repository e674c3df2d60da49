/** The settings of what the shop hears: events and webhooks. */

import { parseAddressRules } from '../../webhooks/address-rules.ts'
import { DAY_MS, days, onOff, parsedBy, setting, whole } from './setting.ts'

export const EVENT_SETTINGS = {
  EVENTS: setting({
    about:
      'Whether changes of orders, items and sales are written as events, for the feed, webhooks and Kafka (docs/events.md). The same in every process.',
    schema: onOff,
    default: 'on',
  }),
  EVENTS_KEPT: setting({
    about:
      'How long events are kept, in days (7d), or off: for good. A cursor that is older answers 410 cursor_expired.',
    schema: days,
    default: '7d',
    show: value => (value === undefined ? 'off' : `${value / DAY_MS}d`),
  }),
  CLOSING_SOON_SECONDS: setting({
    about:
      'How long before its time to pay ends an unpaid order is told as order.closing_soon; 0: never. Orders with less than twice that time get none.',
    schema: whole(0, 86_400),
    default: '180',
    show: Number,
  }),
  WEBHOOK_ALLOW_PRIVATE: setting({
    about:
      'Whether webhooks may be sent to addresses that are not public: off, on, or only these networks, separated by commas (10.0.0.0/8). There also without TLS; public addresses need https.',
    schema: parsedBy(parseAddressRules),
    default: 'off',
    show: rules => rules?.allowed ?? null,
  }),
  WEBHOOK_TIMEOUT_MS: setting({
    about: 'How long a try to deliver a webhook may take, from the name to the answer, in milliseconds.',
    schema: whole(100, 60_000),
    default: '10000',
  }),
  WEBHOOK_RETRY_SECONDS: setting({
    about:
      'How long a webhook that fails is tried again, with growing pauses; then the delivery has failed, and an operator can send it again.',
    schema: whole(1, 604_800),
    default: '86400',
  }),
}
