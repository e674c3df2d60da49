/** Where the waiting line of a sale is shown, if it has one. What is in it comes with a script of its own, which most pages never load. */

import { useEffect, useRef } from 'preact/hooks'
import { call } from '../api.ts'
import { solveChallenge } from '../buy/challenge.ts'
import { loadLine } from '../later-files.ts'
import type { Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { liveConnected } from '../sync/live.ts'
import { noteReply } from '../sync/loading.ts'
import { pollNow } from '../sync/polling.ts'
import { serverNow } from '../sync/server-time.ts'
import { formatLocale, words } from '../words.ts'
import { announce } from './hooks.ts'

const AGAIN_MS = 3_000

/** What the script of the line is given: it must not bring a second copy of the page's state along. */
const PAGE = {
  announce,
  call,
  formatLocale,
  liveConnected,
  noteReply,
  pollNow,
  serverNow,
  solveChallenge,
  store,
  words,
}
export type Page = typeof PAGE

export function WaitingLine({ sale: { id, line } }: { readonly sale: Sale }) {
  const host = useRef<HTMLDivElement>(null)
  const isThere = line !== undefined
  useEffect(() => {
    let stop: (() => void) | undefined
    let timer: ReturnType<typeof setTimeout>
    const load = () => {
      loadLine().then(
        ({ showLine }) => {
          if (host.current !== null) stop = showLine(PAGE, id, host.current)
        },
        () => {
          timer = setTimeout(load, AGAIN_MS)
        },
      )
    }
    if (isThere) load()
    return () => {
      clearTimeout(timer)
      stop?.()
    }
  }, [id, isThere])
  return isThere ? <div class="waiting-line" ref={host} /> : null
}
