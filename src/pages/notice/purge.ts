/**
 * Tells a CDN which of its addresses are out of date: `POST {"files": [address, …]}`, the call that Cloudflare's purge takes, and easy to turn into
 * any other. Files that never change under their name are not named. A status of 2xx is a yes; everything else is a fault that names the status.
 */

import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { INDEX_PATH, type PageNotice, saleOfPath } from '../page-store.ts'

interface PurgeTarget {
  readonly url: string
  /** Sent as a bearer token. */
  readonly token: string | undefined
  /** Where buyers find the pages, without a slash at its end. */
  readonly publicUrl: string
  readonly timeoutMs: number
}

/** What Cloudflare takes at once. */
const CHANGES_MAX = 30

export function createPurge({ url, token, publicUrl, timeoutMs }: PurgeTarget, clock: Clock): PageNotice {
  const { host } = new URL(url)
  return {
    name: 'purge',
    changesMax: CHANGES_MAX,
    async send(changes) {
      const files = changes.flatMap(({ path }) => addressOf(path) ?? []).map(address => `${publicUrl}${address}`)
      if (files.length === 0) return
      const status = await withDeadline(clock, timeoutMs, async signal => {
        try {
          const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
          const body = JSON.stringify({ files })
          const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
          await answer.body?.cancel()
          return answer.status
        } catch {
          const why = signal.aborted ? `no answer within ${timeoutMs} ms` : 'it could not be reached'
          throw new Fault('pages_not_purged', `the purge at ${host}: ${why}`, { retryable: true })
        }
      })
      if (status < 200 || status > 299)
        throw new Fault('pages_not_purged', `the purge at ${host} answered ${status}`, { retryable: true })
    },
  }
}

/** Where buyers ask for it. */
function addressOf(path: string): string | undefined {
  if (path === INDEX_PATH) return '/'
  const sale = saleOfPath(path)
  return sale === undefined ? undefined : `/s/${sale}`
}
