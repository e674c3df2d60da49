/** News over the WebSocket: the buyer's own orders and places in line, stock, sales. Connects again by itself, and then the current state comes first. */

import type { Calls } from './calls.ts'
import { pauseMs } from './pauses.ts'
import type { Join, Order, Sale } from './wire.ts'

export type News =
  | { readonly type: 'order'; readonly order: Order }
  | { readonly type: 'stock'; readonly sale: string; readonly item: string; readonly left: number }
  | { readonly type: 'sale'; readonly sale: Sale }
  | LineNews

/** Where the buyer is in the line of a sale now. */
export interface LineNews extends Pick<Join, 'place' | 'ahead' | 'left'> {
  readonly type: 'line'
  readonly sale: string
  readonly state: Join['state'] | 'left'
}

export function watchNews(calls: Calls, hear: (news: News) => void): () => void {
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let tries = 0
  let stopped = false
  const again = () => {
    if (!stopped) timer = setTimeout(connect, pauseMs(tries++))
  }
  const connect = () => {
    calls.buyerToken().then(token => {
      if (stopped) return
      const base = calls.base === '' ? location.origin : calls.base
      // Browsers can't send a header with it: the token is offered as a protocol.
      socket = new WebSocket(`${base.replace(/^http/, 'ws')}/api/live`, token === undefined ? [] : ['bearer', token])
      socket.onopen = () => {
        tries = 0
      }
      socket.onmessage = ({ data }) => {
        const news = parsed(data)
        if (news !== undefined) hear(news)
      }
      socket.onclose = again
    }, again)
  }
  connect()
  return () => {
    stopped = true
    clearTimeout(timer)
    socket?.close()
  }
}

/** Kinds that this version does not know are skipped. */
function parsed(data: unknown): News | undefined {
  try {
    const news = JSON.parse(String(data)) as News
    return ['order', 'stock', 'sale', 'line'].includes(news.type) ? news : undefined
  } catch {
    return undefined
  }
}
