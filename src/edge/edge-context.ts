/** What the routes share, made once by `app/`; and how a described call becomes a route. */

import type { AccessLists } from '../admission/access-lists.ts'
import type { BuyerTokens } from '../admission/buyer-token.ts'
import type { Challenges } from '../admission/challenges.ts'
import type { OperatorGuard } from '../admission/operator-guard.ts'
import type { CallLimits, RateLimits } from '../admission/rate-limits.ts'
import type { Risk } from '../admission/risk.ts'
import type { TicketOffice } from '../admission/ticket.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import type { IdMaker } from '../base/snowflake.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Sale } from '../domain/sale.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { ProviderHealth } from '../flows/check/provider-health.ts'
import type { SaleResult } from '../flows/check/sale-result.ts'
import type { AccessFollower } from '../flows/follow/follow-access.ts'
import type { DrawFiles } from '../flows/line/draw-files.ts'
import type { JoinLineContext } from '../flows/line/join-line.ts'
import type { JoinOnce } from '../flows/line/join-once.ts'
import type { LineFigures } from '../flows/line/line-figures.ts'
import type { ProviderInquiries } from '../flows/money/ask-provider.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import type { DeadLettersContext } from '../flows/operate/dead-letters.ts'
import type { ImageStore } from '../flows/operate/image-store.ts'
import type { ListOrdersContext } from '../flows/operate/list-orders.ts'
import type { WebhookContext } from '../flows/operate/manage-webhooks.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { FindOrdersContext } from '../flows/sell/find-orders.ts'
import type { HoldBudget } from '../flows/sell/hold-budget.ts'
import type { Registry, StockView } from '../flows/sell/live-item.ts'
import type { ParcelDesk } from '../flows/sell/parcel-desk.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import type { FeedContext } from '../flows/tell/read-feed.ts'
import type { AlertSender } from '../flows/tell/send-alerts.ts'
import type { AccessList } from '../ledger/access.ts'
import type { Holds } from '../ledger/holds.ts'
import type { Journal } from '../ledger/journal.ts'
import type { LineDraws } from '../ledger/line-draws.ts'
import type { Lines } from '../ledger/lines.ts'
import type { OrderTraces } from '../ledger/order-traces.ts'
import type { Parcels } from '../ledger/parcels.ts'
import type { Rights } from '../ledger/rights.ts'
import type { FlightRecorder } from '../telemetry/flight-recorder.ts'
import type { Call } from '../wire/call.ts'
import type { RefusalTally } from './abuse/refusal-tally.ts'
import type { Browsers } from './browsers.ts'
import { CALLBACK_BYTES_MAX, type Exchange, type Route, route } from './http/exchange.ts'
import { plainProblem, rateLimitedProblem } from './http/problem-response.ts'
import { type Identity, operatorsOnly } from './identity.ts'
import type { AskTally } from './ops/ask-tally.ts'
import type { Monitor } from './ops/monitor.ts'
import type { OperatorSessions } from './ops/operator-sessions.ts'
import type { Pages } from './pages.ts'
import type { TicketBindings } from './ticket-bindings.ts'

export interface EdgeContext {
  readonly registry: Registry
  readonly stock: StockView
  readonly catalog: Catalog
  readonly sell: SellContext
  readonly find: FindOrdersContext
  readonly line: JoinLineContext
  readonly lines: Pick<Lines, 'steer'>
  readonly lineFigures: Pick<LineFigures, 'of'>
  readonly money: MoneyContext
  readonly inquiries: Pick<ProviderInquiries, 'ask'>
  readonly operate: OperateContext
  readonly images: Pick<ImageStore, 'add' | 'copy' | 'find'>
  readonly listing: ListOrdersContext
  readonly check: CheckContext
  readonly results: (sale: Sale) => Promise<SaleResult>
  readonly feed: FeedContext
  /** Of every event. */
  readonly eventSource: string
  readonly hooks: WebhookContext
  readonly letters: DeadLettersContext
  readonly journal: Journal
  readonly orderTraces: Pick<OrderTraces, 'find'>
  readonly flight: Pick<FlightRecorder, 'note' | 'last' | 'noted'>
  readonly node: { readonly node: () => number }
  readonly rights: Pick<Rights, 'openLedgerDoor' | 'now'>
  readonly identity: Identity
  readonly buyers: BuyerTokens
  readonly guard: Pick<OperatorGuard, 'check'>
  readonly sessions: OperatorSessions
  readonly monitor: Pick<Monitor, 'watch' | 'trouble'>
  readonly alerts: Pick<AlertSender, 'states' | 'test'>
  readonly asks: Pick<AskTally, 'count'>
  readonly refusals: Pick<RefusalTally, 'count' | 'all'>
  readonly health: Pick<ProviderHealth, 'figures'>
  readonly pages: () => Promise<Pages>
  /** Of the provider whose widget is the challenge; undefined: there is none. */
  readonly widgetHosts: readonly string[] | undefined
  readonly tickets: TicketOffice
  /** Undefined: tickets are not bound. */
  readonly ticketBinding: TicketBindings | undefined
  readonly challenges: Challenges
  /** The shop's own judgement; undefined: it is not asked. */
  readonly risk: Pick<Risk, 'ask' | 'isResting'> | undefined
  readonly lists: AccessLists
  /** Claims of the shop's token that are shown to operators, and that they may keep out. */
  readonly abuseClaims: readonly string[]
  readonly budget: Pick<HoldBudget, 'limitsOf' | 'marksOf' | 'take' | 'settle'>
  readonly parcels: Pick<Parcels, 'of' | 'changeContact'>
  readonly parcelDesk: Pick<ParcelDesk, 'keep' | 'read'>
  readonly access: AccessList
  readonly holds: Pick<Holds, 'list' | 'groups'>
  readonly draws: Pick<LineDraws, 'find' | 'seal' | 'setBeacon'>
  readonly joinOnce: JoinOnce
  readonly drawFiles: Pick<DrawFiles, 'of' | 'open'>
  readonly accessFollower: Pick<AccessFollower, 'round'>
  readonly ids: Pick<IdMaker, 'next'>
  readonly orderLimits: RateLimits
  readonly ticketLimits: RateLimits
  readonly callLimits: CallLimits
  /** The limiter's key for the request's sender. */
  readonly addressOf: (request: Request) => string
  readonly isProxy: (peer: string) => boolean
  /** May the request's page sign a buyer in? (`browsers.ts`) */
  readonly trusts: Browsers['trusts']
  readonly secureCookies: boolean
  /** Where buyers sign in at the shop. */
  readonly signInUrl: string | undefined
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
  readonly log: Log
  readonly onForged: (provider: string) => void
}

/** `by` is the operator's name in operators' calls, and empty in all others. */
type Handle = (edge: EdgeContext, exchange: Exchange, by: string) => Response | Promise<Response>

export type Handlers<Calls> = { readonly [Name in keyof Calls]?: Handle }

/** The routes of the calls that have a handler. Who may ask is the call's own word: a handler can't forget to check for operators and their role. */
export function routesOf<Calls extends Record<string, Call>>(
  edge: EdgeContext,
  calls: Calls,
  handlers: Handlers<Calls>,
): readonly Route[] {
  return Object.entries(handlers as Record<string, Handle>).map(([name, handle]) => {
    const call = calls[name]!
    const { role } = call
    // A provider's callbacks have no limit: each is money, and a forged one costs a hash.
    if (call.who === 'provider')
      return { ...route(call, exchange => handle(edge, exchange, '')), bytesMax: CALLBACK_BYTES_MAX }
    if (role === undefined)
      return route(call, exchange => admitCall(edge, exchange.request) ?? handle(edge, exchange, ''))
    return route(
      call,
      operatorsOnly(edge.identity, role, (exchange, by) => handle(edge, exchange, by)),
    )
  })
}

/** The answer to a sender who is denied, or calls too often, whatever is called; undefined for all others. */
export function admitCall(
  { callLimits, addressOf, lists, refusals }: Pick<EdgeContext, 'callLimits' | 'addressOf' | 'lists' | 'refusals'>,
  request: Request,
): Response | undefined {
  const address = addressOf(request)
  const access = lists.ofAddress(address)
  if (access === 'allow') return undefined
  if (access === 'deny') {
    refusals.count('denied', address)
    return plainProblem('denied')
  }
  const limited = callLimits.address(address)
  if (limited === undefined) return undefined
  refusals.count('rate_limited', address)
  return rateLimitedProblem(limited)
}
