/**
 * Mails from the feed: asks for the events behind a cursor, mails them one after the other, and keeps the cursor in a file after each mail. After a
 * crash the mail in hand may be sent again, and none is left out. One process per cursor file.
 *
 * A mail that fails is tried a few times, with growing pauses. If the server then still refuses this one recipient for now, it is logged and
 * passed over. If there is no server at all, the process ends: the cursor stays, and the next start goes on there.
 */

import { open, readFile, rename } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { TYPES } from './notices.mjs'

const TRIES_MAX = 6
const PAGE_MAX = 50
const WAIT_S = 20
const ANSWER_MS_MAX = 60_000

export async function mailFromFeed({ url, token, cursorFile, retryMs, mailer, log, signal }) {
  // The first time ever: what happened before is not mailed.
  let cursor = (await readCursor(cursorFile)) ?? 'newest'
  while (!signal.aborted) {
    const reply = await tried('the feed', () => ask(cursor))
    if (reply === undefined) return
    for (const event of reply.events ?? []) {
      const done = await tried('the mail', () => mailer.tell(event), event)
      if (done === undefined) return
      await keep(event.id)
    }
    await keep(reply.next)
  }

  async function ask(after) {
    // Where it begins is kept before it waits: what happens from now on is mailed.
    const wait = after === 'newest' ? 0 : WAIT_S
    const query = new URLSearchParams({ after, limit: PAGE_MAX, wait, types: TYPES.join() })
    const response = await fetch(`${url}/api/admin/events?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
    })
    const body = await response.json()
    if (response.ok) return body
    if (body.code !== 'cursor_expired') throw new Error(`the feed answered ${response.status} ${body.code}`)
    log({ event: 'events_missed', after, oldest: body.oldest })
    return { events: [], next: body.oldest }
  }

  /** Its value; undefined if it was interrupted. Throws what the last try threw. */
  async function tried(what, go, event) {
    for (let tries = 1; ; tries++) {
      try {
        return await go()
      } catch (error) {
        if (signal.aborted) return undefined
        if (tries < TRIES_MAX) {
          log({ event: 'try_failed', what, id: event?.id, tries, code: error.code ?? error.message })
        } else if (error.recipientOnly) {
          log({ event: 'mail_given_up', id: event.id, order: event.subject, code: error.responseCode })
          return 'given up'
        } else throw error
        await sleep(retryMs * 2 ** (tries - 1), undefined, { signal }).catch(() => {})
      }
    }
  }

  async function keep(next) {
    if (next === cursor) return
    cursor = next
    await writeCursor(cursorFile, next)
  }
}

async function readCursor(file) {
  try {
    return (await readFile(file, 'utf8')).trim() || undefined
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Whole or not at all, whatever dies in between. */
async function writeCursor(file, cursor) {
  const draft = await open(`${file}.new`, 'w')
  try {
    await draft.writeFile(`${cursor}\n`)
    await draft.sync()
  } finally {
    await draft.close()
  }
  await rename(`${file}.new`, file)
}
