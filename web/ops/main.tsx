/** The operations page starts here: who is signed in, what time it is at the server, and what is there to see. */

import { render } from 'preact'
import { get } from './api.ts'
import { followLinks } from './route.ts'
import { store } from './store.ts'
import { App } from './views/app.tsx'

async function start(): Promise<void> {
  render(<App />, document.getElementById('page')!)
  followLinks()
  await Promise.all([findOperator(), measureOffset()])
}

async function findOperator(): Promise<void> {
  const reply = await get<{ operator: string | null }>('/ops/session')
  store.operator = reply.kind === 'ok' ? reply.body.operator : null
  store.changed()
}

async function measureOffset(): Promise<void> {
  const fromMs = Date.now()
  const reply = await get<{ unixMs: number }>('/api/time')
  if (reply.kind !== 'ok') return
  store.offsetMs = reply.body.unixMs - (fromMs + Date.now()) / 2
  store.changed()
}

void start()
