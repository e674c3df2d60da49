/**
 * A part of the page that comes with a script of its own, which most pages never load: a waiting line, a reminder, a code to scan, the demo's crowd. A script that could not be loaded is
 * asked for again.
 */

import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { solveChallenge } from '../buy/challenge.ts'
import { store } from '../store.ts'
import { liveConnected } from '../sync/live.ts'
import { noteReply } from '../sync/loading.ts'
import { pollNow } from '../sync/polling.ts'
import { serverNow } from '../sync/server-time.ts'
import { formatLocale, words } from '../words.ts'
import { announce } from './hooks.ts'

const AGAIN_MS = 3_000

/** What such a script is given: it must not bring a second copy of the page's state along. */
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

/** Shows the part in `place` until the function that it answers is called. */
type Show = (page: Page, id: string, place: HTMLElement) => () => void

interface Props {
  readonly load: () => Promise<Show>
  /** Of the sale or order that it shows. */
  readonly id: string
  readonly class?: string
  /** Said while the script can't be loaded. */
  readonly failed?: string
}

export function LaterPart({ load, id, class: name, failed }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [missed, setMissed] = useState(false)
  useEffect(() => {
    let wanted = true
    let stop: (() => void) | undefined
    let timer: ReturnType<typeof setTimeout>
    const start = () => {
      load().then(
        show => {
          if (!wanted) return
          setMissed(false)
          stop = show(PAGE, id, host.current!)
        },
        () => {
          if (!wanted) return
          setMissed(true)
          timer = setTimeout(start, AGAIN_MS)
        },
      )
    }
    start()
    return () => {
      wanted = false
      clearTimeout(timer)
      stop?.()
    }
  }, [id])
  return (
    <>
      {missed && failed !== undefined && <p class="note problem">{failed}</p>}
      <div class={name} ref={host} />
    </>
  )
}
