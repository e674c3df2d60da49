/** Every call of the API, in the order in which people read about them. */

import { abuseCalls } from '../abuse/abuse-calls.ts'
import { alertCalls } from '../alerts/alert-calls.ts'
import type { Call } from '../call.ts'
import { deadCalls } from '../dead/dead-calls.ts'
import { drawCalls } from '../draw/draw-calls.ts'
import { eventCalls } from '../events/event-calls.ts'
import { flightCalls } from '../flight/flight-calls.ts'
import { holdCalls } from '../holds/hold-calls.ts'
import { lineCalls } from '../line/line-calls.ts'
import { lineWatchCalls } from '../line/line-watch.ts'
import { listCalls } from '../lists/list-calls.ts'
import { paymentCalls } from '../payments/payment-calls.ts'
import { resultCalls } from '../sale-result.ts'
import { shopCalls } from '../shop/shop-calls.ts'
import { webhookCalls } from '../webhooks/webhook-calls.ts'
import { buyerCalls } from './buyer-calls.ts'
import { operationsCalls } from './operations-calls.ts'
import { operatorCalls } from './operator-calls.ts'

export const ALL_CALLS: readonly Call[] = [
  buyerCalls,
  lineCalls,
  lineWatchCalls,
  drawCalls,
  shopCalls,
  operatorCalls,
  resultCalls,
  paymentCalls,
  eventCalls,
  webhookCalls,
  alertCalls,
  deadCalls,
  listCalls,
  holdCalls,
  abuseCalls,
  flightCalls,
  operationsCalls,
].flatMap(calls => Object.values<Call>(calls))
