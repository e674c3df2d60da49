/** The frame of every page: where one is, what is wrong with the connection, and the voice for screen readers. */

import { useEffect, useRef } from 'preact/hooks'
import { currentRoute, type Route } from '../route.ts'
import { serverTimeKnown } from '../server-time.ts'
import { store } from '../store.ts'
import { switchLanguage, words } from '../words.ts'
import { Empty, Loading } from './empty.tsx'
import { HomeView } from './home-view.tsx'
import { useSaid, useStore } from './hooks.ts'
import { OrdersView, OrderView } from './orders-view.tsx'
import { SaleView } from './sale-view.tsx'

export function App() {
  useStore()
  const text = words()
  const route = currentRoute()
  const place = JSON.stringify(route)
  const title = titleOf(route)
  useEffect(() => {
    document.documentElement.lang = text.locale
    document.title = title
  }, [text.locale, title])
  useFocusOn(place)
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
        <View route={route} key={place} />
      </main>
      <Voice />
    </>
  )
}

function View({ route }: { readonly route: Route }) {
  const text = words()
  // Nothing that counts down is shown by the device's own clock, not for a moment.
  if (!serverTimeKnown() && route.kind !== 'nowhere') return <Loading />
  if (route.kind === 'home') return <HomeView />
  if (route.kind === 'orders') return <OrdersView />
  if (route.kind === 'order') return <OrderView id={route.order} />
  const sale = route.kind === 'sale' ? store.sales.get(route.sale) : undefined
  if (sale !== undefined) return <SaleView sale={sale} />
  const gone = route.kind === 'nowhere' || store.missing.has(route.sale)
  return gone ? <Empty title={text.notFound} note={text.notFoundNote} home /> : <Loading />
}

/** A name may be as long as it likes; a title may not. */
const TITLE_LENGTH_MAX = 80

function titleOf(route: Route): string {
  const text = words()
  const name =
    route.kind === 'sale'
      ? store.sales.get(route.sale)?.name
      : route.kind === 'home'
        ? undefined
        : route.kind === 'nowhere'
          ? text.notFound
          : text.myOrders
  return name === undefined ? 'Stampede' : `${name.slice(0, TITLE_LENGTH_MAX)} · Stampede`
}

/** After a change of place the focus goes to the new heading, as after a real page load; the first place keeps the browser's own. */
function useFocusOn(place: string): void {
  const shown = useRef(place)
  useEffect(() => {
    if (shown.current === place) return
    shown.current = place
    const target = document.querySelector<HTMLElement>('main h1') ?? document.getElementById('main')
    target?.focus({ preventScroll: true })
  }, [place])
}

function Voice() {
  return (
    <div class="unseen" role="status" aria-live="polite" data-voice>
      {useSaid()}
    </div>
  )
}
