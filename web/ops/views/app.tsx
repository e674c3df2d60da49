/** The frame: navigation, sign-in, problems, and the result of the last action. Shows nothing before sign-in. */

import { useEffect, useRef } from 'preact/hooks'
import { get } from '../api.ts'
import { currentRoute, type Route } from '../route.ts'
import type { Sales, Troubles } from '../shapes.ts'
import { mayRun, store } from '../store.ts'
import { abuseWords } from '../words/abuse.ts'
import { alertWords } from '../words/alerts.ts'
import { deadWords } from '../words/dead.ts'
import { listWords } from '../words/lists.ts'
import { paymentWords } from '../words/payments.ts'
import { webhookWords } from '../words/webhooks.ts'
import { switchLanguage, words } from '../words.ts'
import { AbuseView } from './abuse/abuse-view.tsx'
import { AlertsView } from './alerts/alerts-view.tsx'
import { useEvery, useStore } from './controls/hooks.ts'
import { NoteLine } from './controls/note-line.tsx'
import { DeadLettersView } from './dead-letters-view.tsx'
import { ListsView } from './lists/lists-view.tsx'
import { LogView } from './log-view.tsx'
import { HoldsView } from './orders/holds-view.tsx'
import { OrderView } from './orders/order-view.tsx'
import { OrdersView } from './orders/orders-view.tsx'
import { PaymentsView } from './payments-view.tsx'
import { ResultView } from './result/result-view.tsx'
import { SaleView } from './sale/sale-view.tsx'
import { SaleFormView } from './sale-form/sale-form-view.tsx'
import { SalesView } from './sales-view.tsx'
import { SignIn, signOut } from './sign-in.tsx'
import { TroublePanel } from './trouble-panel.tsx'
import { WebhookView } from './webhooks/webhook-view.tsx'
import { WebhooksView } from './webhooks/webhooks-view.tsx'

const POLL_MS = 2_000

export function App() {
  const { operator, role } = useStore()
  const text = words()
  const route = currentRoute()
  const routeKey = JSON.stringify(route)
  useEffect(() => {
    document.documentElement.lang = text.locale
    document.title = `${text.title} · Stampede`
  }, [text.locale])
  useFocusOn(routeKey)
  const inside = typeof operator === 'string'
  return (
    <>
      <a class="skip" href="#main">
        {text.skip}
      </a>
      <header class="head">
        <a class="brand" href="/ops">
          <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <rect width="32" height="32" rx="9" />
            <path d="M7 20.5 13 11h4.2l-3.4 5.4h5L15 22.5h-3.4l2.4-3.8H9.9L8.8 20.5zm11.2 2L24.5 11h3L21.2 22.5z" />
          </svg>
          <span>
            Stampede <span class="soft">{text.title}</span>
          </span>
        </a>
        <nav aria-label={text.mainMenu}>
          {inside && (
            <>
              <a href="/ops" aria-current={route.kind === 'sales' ? 'page' : undefined}>
                {text.sales}
              </a>
              <a href="/ops/payments" aria-current={route.kind === 'payments' ? 'page' : undefined}>
                {paymentWords().title}
              </a>
              <a href="/ops/webhooks" aria-current={route.kind === 'webhooks' ? 'page' : undefined}>
                {webhookWords().webhooks}
              </a>
              <a href="/ops/alerts" aria-current={route.kind === 'alerts' ? 'page' : undefined}>
                {alertWords().title}
              </a>
              <a href="/ops/lists" aria-current={route.kind === 'lists' ? 'page' : undefined}>
                {listWords().title}
              </a>
              <a href="/ops/abuse" aria-current={route.kind === 'abuse' ? 'page' : undefined}>
                {abuseWords().title}
              </a>
              <a href="/ops/dead" aria-current={route.kind === 'dead' ? 'page' : undefined}>
                {deadWords().title}
              </a>
              <a href="/ops/log" aria-current={route.kind === 'log' ? 'page' : undefined}>
                {text.log}
              </a>
            </>
          )}
          <button type="button" class="quiet-button" aria-label={text.otherLabel} onClick={switchLanguage}>
            {text.other}
          </button>
          {inside && (
            <>
              <span class="soft who" data-who>
                {role === null ? operator : text.nameAndRole(operator, text.roles[role])}
              </span>
              <button
                type="button"
                class="quiet-button"
                title={text.signedInAs(operator, role === null ? '' : text.roles[role])}
                onClick={() => void signOut()}
              >
                {text.signOut}
              </button>
            </>
          )}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {operator === undefined ? (
          <p class="soft">{store.operatorUnanswered ? text.askingAgain : text.loading}</p>
        ) : inside ? (
          <Inside route={route} routeKey={routeKey} />
        ) : (
          <SignIn />
        )}
      </main>
    </>
  )
}

function Inside({ route, routeKey }: { readonly route: Route; readonly routeKey: string }) {
  useEvery(POLL_MS, 'trouble', async () => {
    const reply = await get<Troubles>('/api/admin/trouble')
    if (reply.kind !== 'ok') return
    store.trouble = reply.body.trouble
    store.changed()
  })
  // Two polls: while the ledger does not answer, this one waits and the other shows why.
  useEvery(POLL_MS, 'sales', async () => {
    const reply = await get<Sales>('/api/admin/sales')
    if (reply.kind !== 'ok') return
    store.sales = reply.body.sales
    store.changed()
  })
  return (
    <>
      <TroublePanel />
      <NoteLine />
      <View route={route} key={routeKey} />
    </>
  )
}

function View({ route }: { readonly route: Route }) {
  switch (route.kind) {
    case 'sales':
      return <SalesView />
    case 'new':
      return mayRun() ? <SaleFormView sale={undefined} /> : <NotAllowed />
    case 'log':
      return <LogView />
    case 'sale':
      return <SaleView id={route.sale} />
    case 'edit':
      return mayRun() ? <SaleFormView sale={route.sale} /> : <NotAllowed />
    case 'orders':
      return <OrdersView sale={route.sale} />
    case 'result':
      return <ResultView id={route.sale} />
    case 'holds':
      return <HoldsView sale={route.sale} />
    case 'order':
      return <OrderView id={route.order} />
    case 'lists':
      return <ListsView />
    case 'abuse':
      return <AbuseView />
    case 'alerts':
      return <AlertsView />
    case 'dead':
      return <DeadLettersView />
    case 'payments':
      return <PaymentsView />
    case 'webhooks':
      return <WebhooksView />
    case 'webhook':
      return <WebhookView id={route.webhook} />
    case 'unknown':
      return <Nothing />
  }
}

function NotAllowed() {
  const text = words()
  return (
    <section class="empty" data-not-allowed>
      <h1 tabIndex={-1}>{text.notAllowed}</h1>
      <p>{text.refusals.forbidden}</p>
      <a class="button" href="/ops">
        {text.toSales}
      </a>
    </section>
  )
}

export function Nothing() {
  const text = words()
  return (
    <section class="empty">
      <h1 tabIndex={-1}>{text.notFound}</h1>
      <p>{text.notFoundNote}</p>
      <a class="button" href="/ops">
        {text.toSales}
      </a>
    </section>
  )
}

/** After a change of the route the focus moves to the new heading, as after a page load. */
function useFocusOn(routeKey: string): void {
  const shown = useRef(routeKey)
  useEffect(() => {
    if (shown.current === routeKey) return
    shown.current = routeKey
    const target = document.querySelector<HTMLElement>('main h1') ?? document.getElementById('main')
    target?.focus({ preventScroll: true })
  }, [routeKey])
}
