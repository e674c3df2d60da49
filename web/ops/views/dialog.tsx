/**
 * Asks once before something is done: what it is, what will happen, and the two ways out. Stays open with the server's words when it is
 * refused; closes when it is done. Escape and "Not now" do nothing at all.
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Reply, Unanswered } from '../api.ts'
import { wholeWrong } from '../refusal.ts'
import { words } from '../words.ts'

interface DialogProps {
  readonly title: string
  readonly what: string
  readonly confirm: string
  readonly danger?: boolean
  /** Pressing again can't do it twice. */
  readonly safe?: boolean
  /** Fields of its own, each of which shows its own refusal. */
  readonly fields?: readonly string[]
  readonly children?: (failed: Unanswered | undefined) => ComponentChildren
  /** Undefined: something in the fields does not fit, and they say so themselves. */
  readonly act: () => Promise<Reply<unknown> | undefined>
  readonly onClose: () => void
}

export function Dialog({ title, what, confirm, danger, safe, fields, children, act, onClose }: DialogProps) {
  const text = words()
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [working, setWorking] = useState(false)
  const [failed, setFailed] = useState<Unanswered>()
  useEffect(() => {
    const opener = document.activeElement
    box.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  const go = async () => {
    if (working) return
    setWorking(true)
    const reply = await act()
    setWorking(false)
    if (reply === undefined) return
    if (reply.kind === 'ok') onClose()
    else setFailed(reply)
  }
  const general = failed?.kind === 'refused' && fields?.includes(failed.field ?? '') ? undefined : failed
  return (
    <dialog
      ref={box}
      class="dialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-what`}
      onCancel={event => {
        event.preventDefault()
        if (!working) onClose()
      }}
    >
      <form
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void go()
        }}
      >
        <h2 id={`${id}-title`} dir="auto">
          {title}
        </h2>
        <p id={`${id}-what`}>{what}</p>
        {children?.(failed)}
        {general !== undefined && (
          <p class="refused" role="alert">
            {general.kind === 'refused' ? wholeWrong(general) : safe ? text.lostSafe : text.lost}
          </p>
        )}
        <div class="dialog-ways">
          <button type="button" class="button" onClick={() => !working && onClose()}>
            {text.cancel}
          </button>
          <button type="submit" class={danger ? 'button danger' : 'button main'} aria-disabled={working}>
            {working ? text.working : confirm}
          </button>
        </div>
      </form>
    </dialog>
  )
}
