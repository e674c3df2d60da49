/**
 * Who is buying. The shop signs its buyers in; where the server accepts guests, the page creates one, once per browser and not once per tab.
 * A session that has ended is noticed by the next refusal, and read again when the buyer returns to this tab.
 */

import { call, getJson } from '../api.ts'
import { alone, publish, sleep, whenFree } from '../buy/tabs.ts'
import type { SessionState, SignedIn } from '../shapes.ts'
import { type Session, store } from '../store.ts'
import { backOffMs } from './moments.ts'

let finding: Promise<void> | undefined

/** Resolves when the session is known, however long the server is unreachable. One search at a time. */
export function findSession(): Promise<void> {
  finding ??= findUntilKnown().finally(() => {
    finding = undefined
  })
  return finding
}

async function findUntilKnown(): Promise<void> {
  for (let tries = 0; ; tries++) {
    const found = await readSession()
    if (found !== undefined) {
      settle(found)
      return
    }
    await sleep(backOffMs(tries, Math.random()))
  }
}

async function readSession(): Promise<Session | undefined> {
  const who = await getJson<SessionState>('/api/session')
  store.reachable = who.kind !== 'lost'
  store.changed()
  if (who.kind !== 'ok') return undefined
  if (who.body.buyer !== null) return { kind: 'in', buyer: who.body.buyer }
  if (!who.body.guests) return { kind: 'out', signInUrl: who.body.signInUrl }
  const guest = await alone('session', async () => {
    const again = await getJson<SessionState>('/api/session')
    if (again.kind === 'ok' && again.body.buyer !== null) return again.body.buyer
    const made = await call<SignedIn>('POST', '/api/session', { body: {} })
    // A lock in the storage can be lost to another tab, which then makes a guest too: the browser keeps the cookie that came last.
    if (made.kind === 'ok') publish({ kind: 'session' })
    return made.kind === 'ok' ? made.body.buyer : undefined
  })
  if (guest === 'taken') {
    await whenFree('session')
    return undefined
  }
  return guest === undefined ? undefined : { kind: 'in', buyer: guest }
}

function settle(found: Session): void {
  const before = store.session
  if (found.kind === before.kind && (found.kind !== 'in' || (before.kind === 'in' && found.buyer === before.buyer)))
    return
  const other = before.kind === 'in' && !(found.kind === 'in' && found.buyer === before.buyer)
  store.session = found
  if (other) store.forgetBuyer()
  store.changed()
}
