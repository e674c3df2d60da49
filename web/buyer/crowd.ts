/**
 * The demo's crowd: is it offered, is it running? Asked only where the demo sale is shown, so the page of a real sale never asks;
 * often while the crowd is there, seldom otherwise, and not at all while nobody looks.
 */

import { call, getJson } from './api.ts'
import { aboutMs } from './moments.ts'
import type { Sale } from './shapes.ts'

export interface Demo {
  readonly crowd: 'off' | 'offered' | 'running' | 'done'
  readonly sale?: string
  readonly buyers: number
}

const RUNNING_EVERY_MS = 1_000
const EVERY_MS = 5_000
/** What the server's demo sale has on its label. */
const DEMO_SKU = 'DEMO-1'

export function mayBeDemo(sale: Sale): boolean {
  return sale.items.some(item => item.sku === DEMO_SKU)
}

/** Tells what it finds until it is told to stop. */
export function watchCrowd(found: (demo: Demo) => void): () => void {
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = async () => {
    let everyMs = EVERY_MS
    if (!document.hidden) {
      const reply = await getJson<Demo>('/api/demo')
      if (stopped) return
      if (reply.kind === 'ok') {
        found(reply.body)
        if (reply.body.crowd === 'running') everyMs = RUNNING_EVERY_MS
      }
    }
    timer = setTimeout(look, aboutMs(everyMs, Math.random()))
  }
  void look()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** What it has come to, or undefined when there was no answer. */
export async function bringCrowd(buyers: number): Promise<Demo | undefined> {
  const reply = await call<Demo>('POST', '/api/demo/crowd')
  if (reply.kind === 'ok') return reply.body
  return reply.kind === 'refused' && reply.code === 'not_found' ? { crowd: 'off', buyers } : undefined
}
