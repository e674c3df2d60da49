/** What a page knows: the sale, the server's time, and the buyer's newest order of each item. All three stay true while the page is open. */

import { useEffect, useState } from 'react'
import { client } from './buyer.js'

const READ_AGAIN_MS = 3_000
const TICK_MS = 250

/** The sale with this id; without one the first that is published. `offsetMs` is what the server's clock is ahead of this one. */
export function useSale(id) {
  const [known, setKnown] = useState({ sale: undefined, offsetMs: 0 })
  useEffect(() => {
    let timer
    let stopped = false
    const read = async () => {
      try {
        const offsetMs = (await client.serverNowMs()) - Date.now()
        const sale = id === null ? (await client.sales())[0] : await client.sale(id)
        if (!stopped) setKnown({ sale, offsetMs })
      } catch (error) {
        console.info(`${error.code}: what is shown stays, and the server is asked again`)
      }
      // Not all pages at the same moment.
      if (!stopped) timer = setTimeout(read, READ_AGAIN_MS * (0.75 + Math.random() / 2))
    }
    void read()
    return () => {
      stopped = true
      clearTimeout(timer)
    }
  }, [id])
  return known
}

/** Unix milliseconds by the server's clock, four times a second. */
export function useServerTime(offsetMs) {
  const [nowMs, setNowMs] = useState(Date.now() + offsetMs)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now() + offsetMs), TICK_MS)
    return () => clearInterval(timer)
  }, [offsetMs])
  return nowMs
}

/** The buyer's newest order of this item, also one of another tab or device; and a function for an order that this page was just given. */
export function useOrder(item) {
  const [order, setOrder] = useState()
  useEffect(() => {
    let stopped = false
    const note = found => {
      if (!stopped && found.item === item) setOrder(found)
    }
    const stopWatching = client.watch(news => news.type === 'order' && note(news.order))
    client.orders().then(
      // Newest first.
      ({ orders }) => orders.toReversed().forEach(note),
      error => console.info(`${error.code}: orders come with the news instead`),
    )
    return () => {
      stopped = true
      stopWatching()
    }
  }, [item])
  return [order, setOrder]
}
