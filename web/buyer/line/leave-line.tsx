/** Leaving the line, asked for once more: the place is lost. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LineWords } from './line-words.ts'

interface Props {
  readonly text: LineWords
  readonly leave: () => Promise<void>
  readonly said: () => void
}

export function LeaveLine({ text, leave, said }: Props) {
  const [isAsked, ask] = useState(false)
  const stay = useRef<HTMLButtonElement>(null)
  const first = useRef<HTMLButtonElement>(null)
  const wasAsked = useRef(false)
  // The pressed button is gone: the focus goes to what has come for it.
  useLayoutEffect(() => {
    if (isAsked) stay.current?.focus()
    else if (wasAsked.current) first.current?.focus()
    wasAsked.current = isAsked
  }, [isAsked])
  if (!isAsked)
    return (
      <button type="button" class="plain-button" ref={first} onClick={() => ask(true)}>
        {text.leave}
      </button>
    )
  const go = async () => {
    await leave()
    ask(false)
    said()
    document.querySelector<HTMLElement>('main .main-button')?.focus({ preventScroll: true })
  }
  return (
    <fieldset class="sure">
      <legend>{text.leaveAsk}</legend>
      <div class="sure-buttons">
        <button type="button" class="plain-button danger" onClick={go}>
          {text.leaveYes}
        </button>
        <button type="button" class="plain-button" ref={stay} onClick={() => ask(false)}>
          {text.leaveNo}
        </button>
      </div>
    </fieldset>
  )
}
