/** Starts the operations page: shows it, and reads the session and the server's time. */

import { render } from 'preact'
import { get } from './api.ts'
import { followLinks } from './route.ts'
import type { OperatorSession, Time } from './shapes.ts'
import { store } from './store.ts'
import { App } from './views/app.tsx'

const ASK_AGAIN_MS = 2_000

async function start(): Promise<void> {
  render(<App />, document.getElementById('page')!)
  followLinks()
  await Promise.all([findOperator(), measureOffset()])
}

async function findOperator(): Promise<void> {
  for (;;) {
    const reply = await get<OperatorSession>('/ops/session')
    if (reply.kind === 'ok') {
      store.operator = reply.body.operator
      store.role = reply.body.role
      return store.changed()
    }
    // No answer does not mean signed out: an operator must not have to sign in again because a proxy was restarted.
    store.operatorUnanswered = true
    store.changed()
    await new Promise(resolve => setTimeout(resolve, ASK_AGAIN_MS))
  }
}

async function measureOffset(): Promise<void> {
  const fromMs = Date.now()
  const reply = await get<Time>('/api/time')
  if (reply.kind !== 'ok') return
  store.offsetMs = reply.body.unixMs - (fromMs + Date.now()) / 2
  store.changed()
}

void start()
