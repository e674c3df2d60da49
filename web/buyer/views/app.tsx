/** The frame of every page: navigation, the state of the connection, and announcements for screen readers. */

import { useEffect, useRef } from 'preact/hooks'
import { currentRoute, type Route } from '../route.ts'
import { store } from '../store.ts'
import { serverTimeKnown } from '../sync/server-time.ts'
import { nameOf, switchLanguage, words } from '../words.ts'
import { Empty, Loading } from './empty.tsx'
import { HomeView } from './home-view.tsx'
import { useAnnouncement, useStore } from './hooks.ts'
import { OrdersView, OrderView } from './orders-view.tsx'
import { SaleView } from './sale-view.tsx'

export function App() {
  useStore()
  const text = words()
  const route = currentRoute()
  const routeKey = JSON.stringify(route)
  const title = titleOf(route)
  useEffect(() => {
    document.documentElement.lang = text.locale
    document.title = title
  }, [text.locale, title])
  useFocusOn(routeKey)
  return (
    <>
      <a class="skip" href="#main">
        {text.skip}
      </a>
      <header class="head">
        <a class="brand" href="/" aria-label="Stampede">
          <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <rect width="32" height="32" rx="9" />
            <path d="M7 20.5 13 11h4.2l-3.4 5.4h5L15 22.5h-3.4l2.4-3.8H9.9L8.8 20.5zm11.2 2L24.5 11h3L21.2 22.5z" />
          </svg>
          <span>Stampede</span>
        </a>
        <nav aria-label={text.mainMenu}>
          <a href="/" aria-current={route.kind === 'home' ? 'page' : undefined}>
            {text.sales}
          </a>
          <a href="/orders" aria-current={route.kind === 'orders' ? 'page' : undefined}>
            {text.myOrders}
          </a>
          <button type="button" class="language" aria-label={text.otherLabel} onClick={switchLanguage}>
            {text.other}
          </button>
        </nav>
      </header>
      <div class="banner-place" role="status">
        {(!store.online || !store.reachable) && (
          <p class="banner">{store.online ? text.unreachableBanner : text.offlineBanner}</p>
        )}
      </div>
      <main id="main" tabIndex={-1}>
        <View route={route} key={routeKey} />
      </main>
      <Announcer />
    </>
  )
}

function View({ route }: { readonly route: Route }) {
  const text = words()
  const sale = route.kind === 'sale' ? store.sales.get(route.sale) : undefined
  if (sale !== undefined) return <SaleView sale={sale} />
  // The other views have times that the device's own clock must not decide.
  if (!serverTimeKnown() && route.kind !== 'unknown') return <Loading />
  if (route.kind === 'home') return <HomeView />
  if (route.kind === 'orders') return <OrdersView />
  if (route.kind === 'order') return <OrderView id={route.order} />
  const gone = route.kind === 'unknown' || store.missing.has(route.sale)
  return gone ? <Empty title={text.notFound} note={text.notFoundNote} home /> : <Loading />
}

/** Names may be of any length; titles may not. */
const TITLE_LENGTH_MAX = 80

function titleOf(route: Route): string {
  const text = words()
  const sale = route.kind === 'sale' ? store.sales.get(route.sale) : undefined
  const name =
    route.kind === 'sale'
      ? sale && nameOf(sale)
      : route.kind === 'home'
        ? undefined
        : route.kind === 'unknown'
          ? text.notFound
          : text.myOrders
  return name === undefined ? 'Stampede' : `${name.slice(0, TITLE_LENGTH_MAX)} · Stampede`
}

/** After a change of the route the focus moves to the new heading, as after a page load; not on the first route. */
function useFocusOn(routeKey: string): void {
  const shown = useRef(routeKey)
  useEffect(() => {
    if (shown.current === routeKey) return
    shown.current = routeKey
    const target = document.querySelector<HTMLElement>('main h1') ?? document.getElementById('main')
    target?.focus({ preventScroll: true })
  }, [routeKey])
}

function Announcer() {
  return (
    <div class="unseen" role="status" aria-live="polite" data-voice>
      {useAnnouncement()}
    </div>
  )
}
