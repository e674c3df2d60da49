/** Starts the buyer page: shows it, reads the server's time and the session, resumes asks that were under way, and starts polling. */

import { render } from 'preact'
import { followOtherTabs, resumeAsks } from './buy/buying.ts'
import { backFromPaying } from './buy/paying.ts'
import { onTabMessage } from './buy/tabs.ts'
import { followLinks } from './route.ts'
import { store } from './store.ts'
import { readEmbedded } from './sync/embedded.ts'
import { keepLive } from './sync/live.ts'
import { loadOrders } from './sync/loading.ts'
import { pollNow, startPolling } from './sync/polling.ts'
import { measureServerTime } from './sync/server-time.ts'
import { findSession } from './sync/session.ts'
import { backFromSigningIn } from './sync/sign-in.ts'
import { App } from './views/app.tsx'

async function start(): Promise<void> {
  // First of all: the token leaves the address bar before anything else reads or shows it.
  const signedIn = backFromSigningIn()
  const page = document.getElementById('page')!
  // What a pre-rendered page shows without its script.
  page.replaceChildren()
  readEmbedded()
  render(<App />, page)
  followLinks(pollNow)
  followOtherTabs()
  followDevice()
  backFromPaying()
  startPolling()
  keepLive()
  await Promise.all([measureServerTime(), signedIn.then(findSession)])
  await loadOrders()
  store.changed()
  pollNow()
  await resumeAsks()
}

function followDevice(): void {
  const network = () => {
    store.online = navigator.onLine
    store.changed()
    pollNow()
  }
  window.addEventListener('online', network)
  window.addEventListener('offline', network)
  const back = () => {
    if (document.hidden) return
    // The device may have slept, and the buyer may have signed in or out in another tab.
    void measureServerTime(3, true)
    void findSession().then(pollNow)
    pollNow()
  }
  document.addEventListener('visibilitychange', back)
  onTabMessage(({ kind }) => {
    // A search that is under way may have read the cookie before it changed.
    if (kind === 'session') void findSession().then(findSession).then(pollNow)
  })
  window.addEventListener('pageshow', event => {
    if (!event.persisted) return
    backFromPaying()
    back()
  })
}

void start()
