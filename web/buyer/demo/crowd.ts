/**
 * The demo's crowd: is it offered, is it running? Polled only where the demo sale is shown, never on the page of a real sale; often while the
 * crowd is running, rarely otherwise, and not at all while the tab is hidden.
 */

import { call, getJson } from '../api.ts'
import type { Demo } from '../shapes.ts'
import { aboutMs } from '../sync/moments.ts'
import type { Page } from '../views/later-part.tsx'

const RUNNING_EVERY_MS = 1_000
const EVERY_MS = 5_000
/** Reports the state until the returned function is called. */
export function watchCrowd(sale: string, found: (demo: Demo) => void): () => void {
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const poll = async () => {
    let everyMs = EVERY_MS
    if (!document.hidden) {
      const reply = await getJson<Demo>(`/api/demo?sale=${sale}`)
      if (stopped) return
      if (reply.kind === 'ok') {
        found(reply.body)
        if (reply.body.crowd === 'running') everyMs = RUNNING_EVERY_MS
      }
    }
    timer = setTimeout(poll, aboutMs(everyMs, Math.random()))
  }
  void poll()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** The new state, or undefined when there was no answer. */
export async function bringCrowd({ noteReply }: Page, sale: string, buyers: number): Promise<Demo | undefined> {
  const reply = await call<Demo>('POST', `/api/demo/crowd?sale=${sale}`)
  // A session that has ended is replaced; the next press counts.
  noteReply(reply)
  if (reply.kind === 'ok') return reply.body
  return reply.kind === 'refused' && reply.code === 'not_found' ? { crowd: 'off', buyers } : undefined
}
