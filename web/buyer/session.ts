/**
 * Who is buying. The shop signs its buyers in; where the server takes guests, the page makes one, once per browser and not once per tab.
 * A session that is gone is noticed by the next refusal and looked for again when the person comes back to this tab.
 */

import { call, getJson } from './api.ts'
import { backOffMs } from './moments.ts'
import { type Session, store } from './store.ts'
import { alone, sleep, whenFree } from './tabs.ts'

interface WhoIsIt {
  readonly buyer: string | null
  readonly guests: boolean
}

let looking: Promise<void> | undefined

/** Resolves when it is known, however long the server is away. One look at a time. */
export function findSession(): Promise<void> {
  looking ??= look().finally(() => {
    looking = undefined
  })
  return looking
}

async function look(): Promise<void> {
  for (let tries = 0; ; tries++) {
    const found = await ask()
    if (found !== undefined) {
      settle(found)
      return
    }
    await sleep(backOffMs(tries, Math.random()))
  }
}

async function ask(): Promise<Session | undefined> {
  const who = await getJson<WhoIsIt>('/api/session')
  store.reachable = who.kind !== 'lost'
  store.changed()
  if (who.kind !== 'ok') return undefined
  if (who.body.buyer !== null) return { kind: 'in', buyer: who.body.buyer }
  if (!who.body.guests) return { kind: 'out' }
  const guest = await alone('session', async () => {
    const again = await getJson<WhoIsIt>('/api/session')
    if (again.kind === 'ok' && again.body.buyer !== null) return again.body.buyer
    const made = await call<{ buyer: string }>('POST', '/api/session', { body: {} })
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
