/** Reads the log into the store: from its beginning, page by page, then new lines. Keeps the newest lines only. */

import { get } from './api.ts'
import type { Log } from './shapes.ts'
import { store } from './store.ts'

const PAGE = 1000
const LINES_MAX = 5000

let reading: Promise<void> | undefined

/** A call during a reading waits for the next one, so that an action just done is in it. */
export async function readLog(): Promise<void> {
  await reading
  reading ??= readOn().finally(() => {
    reading = undefined
  })
  await reading
}

async function readOn(): Promise<void> {
  for (;;) {
    const after = store.log.at(-1)?.id ?? ''
    const reply = await get<Log>(`/api/admin/log?limit=${PAGE}&after=${after}`)
    if (reply.kind !== 'ok') return
    const { log, next } = reply.body
    if (log.length > 0 || !store.logLoaded) {
      store.log = [...store.log, ...log].slice(-LINES_MAX)
      store.logLoaded = next === null
      store.changed()
    }
    if (next === null) return
  }
}
