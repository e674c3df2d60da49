/** The buyer's page starts here: show it, learn the server's time and who is buying, go on with what was under way, and keep it true. */

import { render } from 'preact'
import { hearOtherTabs, resumeAsks } from './buying.ts'
import { keepLive } from './live.ts'
import { loadOrders } from './loading.ts'
import { backFromPaying } from './paying.ts'
import { followLinks } from './route.ts'
import { measureServerTime } from './server-time.ts'
import { findSession } from './session.ts'
import { store } from './store.ts'
import { App } from './views/app.tsx'
import { lookAgain, startWatching } from './watching.ts'

async function start(): Promise<void> {
  render(<App />, document.getElementById('page')!)
  followLinks(lookAgain)
  hearOtherTabs()
  hearTheDevice()
  backFromPaying()
  startWatching()
  keepLive()
  await Promise.all([measureServerTime(), findSession()])
  await loadOrders()
  store.changed()
  lookAgain()
  await resumeAsks()
}

function hearTheDevice(): void {
  const network = () => {
    store.online = navigator.onLine
    store.changed()
    lookAgain()
  }
  window.addEventListener('online', network)
  window.addEventListener('offline', network)
  const back = () => {
    if (document.hidden) return
    // It may have slept, and somebody may have signed in or out in another tab.
    void measureServerTime(3, true)
    void findSession().then(lookAgain)
    lookAgain()
  }
  document.addEventListener('visibilitychange', back)
  window.addEventListener('pageshow', event => {
    if (!event.persisted) return
    backFromPaying()
    back()
  })
}

void start()
